package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/hack/reference"
)

var update = flag.Bool("update", false, "write docs/reference, as make generate does")

// TestReference compares the pages of docs/reference with the pages that the code generates.
func TestReference(t *testing.T) {
	var crds [][]byte
	// The kinds have the same order as in the pages that explain them.
	for _, plural := range []string{"properties", "accesstokens", "contentfilters", "tags", "activateunits", "webhooks"} {
		crds = append(crds, readFile(t, "../../config/crd/bases/vitrine.dev_"+plural+".yaml"))
	}
	api, err := reference.API(crds...)
	if err != nil {
		t.Fatal(err)
	}
	http, err := reference.HTTP(readFile(t, "../../server/httpapi/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	cli, err := reference.CLI(newRoot())
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{
		"api.md": api, "http.md": http, "cli.md": cli, "metrics.md": reference.Metrics(ownMetrics(t)),
	} {
		file := filepath.Join("../../docs/reference", name)
		if *update {
			if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(string(readFile(t, file)), page); diff != "" {
			t.Errorf("docs/reference/%s is out of date, run make generate (-page +code):\n%s", name, diff)
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
