// Package reference generates the pages of docs/reference from the CRDs, the OpenAPI document, the commands and the registered metrics. A
// test of cmd/vitrine calls the package, because only cmd/vitrine has access to the commands and the metrics. In `make generate`, the test
// writes the pages. In `make test`, it checks that the pages are up to date. The package may import any module.
package reference
