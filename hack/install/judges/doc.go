// Package judges checks the rendered chart and config with external tools: kube-score, checkov and kubeconform. It contains only tests,
// which run only if VITRINE_JUDGES is set, as in `make judges`. A test whose tool is missing is skipped and logs "DID NOT RUN". With
// VITRINE_REQUIRE_TOOLS, it fails instead. `helm lint --strict` and the dry run with a real API server are tests of package render.
package judges
