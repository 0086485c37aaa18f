package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLint: neither linter reports anything, warnings included. testdata/lint holds the exceptions and their reasons.
func TestLint(t *testing.T) {
	tools(t, "npm")
	dir := workspace(t, "lint")
	text, err := os.ReadFile(document(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "openapi.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	install(t, dir)
	quiet := []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}
	command(t, dir, nil, "node_modules/.bin/spectral", "lint", "--ruleset", "spectral.yaml", "--fail-severity", "hint", "openapi.json")
	said := command(t, dir, quiet, "node_modules/.bin/redocly", "lint", "--config", "redocly.yaml", "openapi.json")
	if !strings.Contains(said, "2 problems are explicitly ignored") || strings.Contains(said, "warning") {
		t.Errorf("redocly lint:\n%s", said)
	}
}

// install downloads the npm packages of a workspace.
func install(t *testing.T, dir string) {
	t.Helper()
	command(t, dir, nil, "npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
}
