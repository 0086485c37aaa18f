package httpapi

import _ "embed"

// openAPI describes every endpoint; tests hold it against the routes and against every answer that they get.
//
//go:embed openapi.json
var openAPI []byte

// showOpenAPI answers GET /openapi.json (extension).
func (s *Server) showOpenAPI(x *exchange) error { return x.show(openAPI) }
