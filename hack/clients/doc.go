// Package clients generates clients from the OpenAPI document of the HTTP interface and calls a running server with them:
// oapi-codegen (Go), openapi-generator (Java), openapi-typescript and openapi-python-client, all without options. It also
// lints the document with Spectral and Redocly and sends generated requests with Schemathesis. It is a module of its own
// since none of that belongs to the product; it has tests and nothing else.
//
// The Go client is tested everywhere. The other tools come from package registries, and so their tests run where
// VITRINE_CLIENTS is set, as `make clients` does. A test whose tool is absent is skipped and logs "DID NOT RUN"; with
// VITRINE_REQUIRE_TOOLS set it fails.
//
// testdata has a folder for each tool: its pinned version, and the calls in its language. All of them make the same calls
// and stop at the first answer that is wrong.
package clients
