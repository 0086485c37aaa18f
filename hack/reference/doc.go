// Package reference generates the pages of docs/reference from the CRDs, the OpenAPI document, the commands and the registered metrics. A
// test of cmd/vitrine calls the package, because only cmd/vitrine has access to the commands and the metrics. In `make generate`, the test
// writes the pages. In `make test`, it checks that the pages are up to date. The package may import any module.
//
// cobra's generator writes the page about the commands. crd-ref-docs was refused for the page about the kinds, because it omits the messages of
// the CEL rules, the columns of kubectl get and the short names. openapi-generator and widdershins were refused for the page about the HTTP
// API, because they need Java or Node and omit the extensions of the document.
package reference
