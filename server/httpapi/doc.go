// Package httpapi is the HTTP interface of a content library: routes, authentication, HAL, paging, CORS, limits, caching,
// problem documents and the OpenAPI document. What it serves is the specification, Content Library Interface, and the
// decisions in docs/http-api.md where that is silent.
//
// Invariants:
//
//   - A request sees one property, that of its token; nothing is answered from another one.
//   - A token never leaves the request: it is compared as a SHA-256 digest and stands in no answer, log line or metric.
//   - A READ-ONLY caller learns nothing private: no submission, no field of it in a query or an order, nothing of a stored
//     query's text.
//   - Every answer is described by openapi.json, which tests hold against each answer that they get.
//
// Where things are. routes.go is the table of all endpoints: one line each, with who may call it and its handler. A
// handler reads its parameters (params.go) or its body (body.go), asks the library, and answers through exchange.go;
// it returns an error instead of writing one, and problem.go alone knows which error becomes which answer. Every list of
// items is one call of list (listing.go).
//
// To add an endpoint: a line in routes.go, a handler, a path with examples in openapi.json, rows in the tests' table, a
// section in docs/http-api.md.
//
// It may import library, query and item.
package httpapi
