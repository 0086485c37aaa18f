// Package reference writes the pages of docs/reference from the sources of the facts: the CRDs, the OpenAPI document, the commands
// and the registered metrics. A test of cmd/vitrine calls it, because only that package knows the commands and the metrics. `make
// generate` writes the pages, and `make test` compares them. It may import any module.
package reference
