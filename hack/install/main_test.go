package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const config = "../../config"

func TestManifest(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"manifest", "-config", config, "-image", "registry.example/vitrine:v1"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "image: registry.example/vitrine:v1\n") || strings.Count(out.String(), "kind: CustomResourceDefinition\n") != 6 {
		t.Errorf("the manifest lacks its image or CRDs:\n%.2000s", out.String())
	}
}

func TestCRDs(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"crds", "-config", config}, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\nkind: "); n != 6 || strings.Count(out.String(), "\nkind: CustomResourceDefinition\n") != n {
		t.Errorf("want the six CRDs and nothing else:\n%.2000s", out.String())
	}
}

// TestValues checks that config/chart/README.md is up to date, and that a value without a comment is an error.
func TestValues(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"values", "-config", config}, &out); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(config, "chart", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("run make generate (-config/chart/README.md +values.yaml):\n%s", diff)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "chart"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "chart", "values.yaml"), []byte("# A.\na:\n  # C.\n  b: 1\n  c: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"values", "-config", dir}, &out); err == nil || !strings.Contains(err.Error(), "line 5: a.c has no comment") {
		t.Errorf("a value without a comment: %v", err)
	}
}

func TestChart(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"chart", "-config", config, "-version", "1.2.3", "-to", t.TempDir()}, &out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSpace(out.String())); err != nil {
		t.Errorf("it printed no path to the package: %v", err)
	}
}

func TestInvalidArguments(t *testing.T) {
	if err := run(nil, nil); !errors.Is(err, errUsage) {
		t.Errorf("without a command: %v", err)
	}
	if err := run([]string{"apply"}, nil); !errors.Is(err, errUsage) {
		t.Errorf("with an unknown command: %v", err)
	}
	if err := run([]string{"manifest", "-config", config}, &bytes.Buffer{}); err == nil {
		t.Error("run writes a manifest without an image")
	}
}
