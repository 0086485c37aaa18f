package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

const config = "../../config"

func TestManifest(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"manifest", "-config", config, "-image", "registry.example/vitrine:v1"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "image: registry.example/vitrine:v1\n") || strings.Count(out.String(), "kind: CustomResourceDefinition\n") != 5 {
		t.Errorf("the manifest lacks its image or CRDs:\n%.2000s", out.String())
	}
}

func TestCRDs(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"crds", "-config", config}, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\nkind: "); n != 5 || strings.Count(out.String(), "\nkind: CustomResourceDefinition\n") != n {
		t.Errorf("want the five CRDs and nothing else:\n%.2000s", out.String())
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

func TestRefuses(t *testing.T) {
	if err := run(nil, nil); !errors.Is(err, errUsage) {
		t.Errorf("without a command: %v", err)
	}
	if err := run([]string{"apply"}, nil); !errors.Is(err, errUsage) {
		t.Errorf("with an unknown command: %v", err)
	}
	if err := run([]string{"manifest", "-config", config}, &bytes.Buffer{}); err == nil {
		t.Error("a manifest without an image was made")
	}
}
