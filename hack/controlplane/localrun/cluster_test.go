package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestEstablished has a kubectl that fails first, as it does for a CRD that has no conditions yet.
func TestEstablished(t *testing.T) {
	dir := t.TempDir()
	kubectl := filepath.Join(dir, "kubectl")
	script := "#!/bin/sh\n[ -e '" + dir + "/called' ] && exit 0\ntouch '" + dir + "/called'\necho '.status.conditions accessor error' >&2\nexit 1\n"
	if err := os.WriteFile(kubectl, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	c := cluster{kubectl: kubectl, cache: dir}
	if err := c.established(t.Context()); err != nil {
		t.Error(err)
	}
}
