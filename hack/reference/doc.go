// Package reference generates the pages of docs/reference from the CRDs, the OpenAPI document, the commands and the registered metrics. A
// test of cmd/vitrine calls it, because only cmd/vitrine has access to the commands and the metrics. In `make generate`, the test writes
// the pages. In `make test`, it compares them. It may import any module.
package reference
