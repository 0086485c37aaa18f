// Package clients generates clients from the OpenAPI document of the HTTP interface and calls a running server with them:
// oapi-codegen (Go), openapi-generator (Java), openapi-typescript and openapi-python-client, all without options. It also lints the
// document with Spectral and Redocly, and sends generated requests with Schemathesis. The package is a separate module, because Vitrine
// itself needs none of these tools. It contains only tests. Two of them run the programs that receive deliveries in the documentation: that of
// docs/connect-an-app.md, which purges Varnish, and that of docs/moderate.md.
//
// The test of the Go client always runs. The other tests download their tools from package registries, so they run only if VITRINE_CLIENTS
// is set, as in `make clients`. A test whose tool is missing is skipped and logs "DID NOT RUN". If VITRINE_REQUIRE_TOOLS is set, the test
// fails instead.
//
// testdata has a folder for each tool with its pinned version and the calls in its language. All clients make the same calls and
// stop at the first wrong response.
package clients
