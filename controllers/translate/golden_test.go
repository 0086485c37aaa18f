package translate_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

var update = flag.Bool("update", false, "rewrite testdata/*.out.yaml")

// install is the identity of the cluster of the golden objects.
const install = "0b6f0b5e-0000-4000-8000-000000000000"

// golden is the content of an .out.yaml file.
type golden struct {
	// Definition is the stored form of the definition. It is absent if the translation fails.
	Definition json.RawMessage `json:"definition,omitempty"`
	Warnings   []query.Warning `json:"warnings,omitempty"`
	Error      string          `json:"error,omitempty"`
}

// TestTranslate translates each testdata/*.in.yaml and compares the result with its .out.yaml. To add a case, add an .in.yaml and
// run the test with -update.
func TestTranslate(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	outputs, err := filepath.Glob("testdata/*.out.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !*update && len(outputs) != len(inputs) {
		t.Errorf("%d inputs and %d outputs: every input needs one output", len(inputs), len(outputs))
	}
	for _, input := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(input), ".in.yaml"), func(t *testing.T) {
			text, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(run(t, text))
			if err != nil {
				t.Fatal(err)
			}
			output := strings.TrimSuffix(input, ".in.yaml") + ".out.yaml"
			if *update {
				if err := os.WriteFile(output, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("translation (-want +got; -update rewrites):\n%s", diff)
			}
		})
	}
}

// run translates one object.
func run(t *testing.T, text []byte) golden {
	t.Helper()
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(text, &kind); err != nil {
		t.Fatal(err)
	}
	read := func(o any) {
		if err := yaml.UnmarshalStrict(text, o); err != nil {
			t.Fatal(err)
		}
	}
	var d library.Definition
	var warnings []query.Warning
	var err error
	switch kind.Kind {
	case v1alpha1.PropertyKind:
		o := &v1alpha1.Property{}
		read(o)
		d, warnings, err = translate.Property(install, o)
	case v1alpha1.ContentFilterKind:
		o := &v1alpha1.ContentFilter{}
		read(o)
		d, warnings, err = translate.ContentFilter(install, o)
	case v1alpha1.TagKind:
		o := &v1alpha1.Tag{}
		read(o)
		d, warnings, err = translate.Tag(install, o)
	case v1alpha1.ActivateUnitKind:
		o := &v1alpha1.ActivateUnit{}
		read(o)
		d, warnings, err = translate.ActivateUnit(install, o)
	case v1alpha1.WebhookKind:
		o := &v1alpha1.Webhook{}
		read(o)
		d, warnings, err = translate.Webhook(install, o)
	case v1alpha1.AccessTokenKind:
		o := &v1alpha1.AccessToken{}
		read(o)
		// The value was issued when the object was created. The UUIDs of the filters are derived from their names.
		issue := translate.NewIssue("a value of thirty-two characters", o.CreationTimestamp.UTC())
		var filters []string
		for _, name := range o.Spec.Filters {
			uuid, _ := library.FilterIDs(translate.PropertyID(o), library.KindFilter, o.PropertyNamespace(), name)
			filters = append(filters, uuid)
		}
		d, warnings, err = translate.AccessToken(install, o, translate.TokenValues(o.Spec, issue, nil, nil, issue.At), filters)
	default:
		t.Fatalf("unknown kind %q", kind.Kind)
	}
	if err != nil {
		var spec *translate.SpecError
		if !errors.As(err, &spec) {
			t.Errorf("the error is %T, want *SpecError", err)
		}
		return golden{Error: err.Error()}
	}
	if err := library.Check(d); err != nil {
		t.Errorf("the library would refuse the definition: %v", err)
	}
	encoded, err := library.EncodeDefinition(d)
	if err != nil {
		t.Fatal(err)
	}
	return golden{Definition: encoded, Warnings: warnings}
}
