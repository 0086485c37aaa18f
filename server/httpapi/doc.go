// Package httpapi implements the HTTP interface of a content library: routes, authentication, HAL, paging, CORS, limits, caching, problem
// documents and the OpenAPI document. It implements the specification "Content Library Interface" and, where the specification is silent,
// the decisions in docs/http-api.md.
//
// Invariants:
//
//   - A request reaches only the property of its token.
//   - A token never leaves the request: the server compares its SHA-256 digest, and no response, log line or metric contains
//     it.
//   - A READ-ONLY caller learns nothing private: no submission, no submission field through a query or an order, and no
//     part of a stored query's text.
//   - For a token with a scope, other items do not exist: a read sets the scope with seen or itemRead. Explanations and
//     sources first read the item in this way, and an export narrows its query.
//   - openapi.json describes every response. The tests validate all responses that they receive against openapi.json.
//
// Layout: routes.go lists all endpoints, one line each, with the required access and action and the handler. A handler reads its parameters
// (params.go) or its body (body.go), calls the library, and answers with the functions in answer.go. A handler returns errors instead of
// writing them; only problem.go maps errors to responses. Every list of items is one call of list (listing.go). pagekey.go says which page a
// request means, for the cache of pages and for ETags.
//
// To add an endpoint, add a line in routes.go, a handler, a path with examples in openapi.json, rows in the tests' table,
// and a section in docs/http-api.md.
//
// Comments name the section of the specification that an endpoint follows, or say "extension" if the specification does not contain the
// endpoint. An ad-hoc query is a query that the caller sends, as opposed to the query of a stored filter.
//
// This package may import feed, flight, library, query, item, coding and jsongzip.
package httpapi
