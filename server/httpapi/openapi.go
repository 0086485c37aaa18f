package httpapi

import _ "embed"

// openAPI describes every endpoint; tests hold it against the routes and against every answer that they get.
//
//go:embed openapi.json
var openAPI []byte

// showOpenAPI answers GET /openapi.json (extension), to any web page.
func (s *Server) showOpenAPI(x *exchange) error {
	x.Header().Set("Access-Control-Allow-Origin", "*")
	return x.show(openAPI)
}
