package gitops_test

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/hack/docblocks"
)

const (
	root = "../../.."
	page = root + "/docs/gitops.md"
)

// documents returns the YAML documents of the page in order.
func documents(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all := docblocks.YAML(string(text))
	if len(all) < 10 {
		t.Fatalf("%d documents in %s", len(all), page)
	}
	return all
}

// header contains the fields that every manifest has.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
}

func headerOf(t *testing.T, document string) header {
	t.Helper()
	var h header
	if err := yaml.Unmarshal([]byte(document), &h); err != nil {
		t.Fatalf("%v:\n%s", err, document)
	}
	return h
}

// find decodes the document with the given kind and name into an object. It rejects unknown fields.
func find(t *testing.T, kind, name string, into any) {
	t.Helper()
	for _, d := range documents(t) {
		if h := headerOf(t, d); h.Kind == kind && h.Metadata.Name == name {
			if err := yaml.UnmarshalStrict([]byte(d), into); err != nil {
				t.Fatalf("%s %s: %v", kind, name, err)
			}
			return
		}
	}
	t.Fatalf("%s shows no %s %s", page, kind, name)
}
