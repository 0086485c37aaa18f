package httpapi

import _ "embed"

// openAPI is the document that describes every endpoint. Tests compare it with the routes, and with every response that they receive.
//
//go:embed openapi.json
var openAPI []byte

// showOpenAPI answers GET /openapi.json (extension).
func (s *Server) showOpenAPI(x *exchange) error { return x.show(openAPI) }
