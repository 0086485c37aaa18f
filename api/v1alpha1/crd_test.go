package v1alpha1_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// maxCRDBytes is the maximum size of the annotation of a client-side apply.
const maxCRDBytes = 256 << 10

// crds returns the generated CRDs by kind.
func crds(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs, run make generate: %v", err)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) >= maxCRDBytes {
			t.Errorf("%s has %d bytes: it has to stay below %d", file, len(text), maxCRDBytes)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[crd.Spec.Names.Kind] = crd
	}
	return all
}

// TestNames checks the names that users type and see in kubectl.
func TestNames(t *testing.T) {
	type names struct {
		Plural, Short string
		// Columns are the columns of kubectl get. (wide) marks the additional columns of -o wide.
		Columns string
		// Required are the required members of spec.
		Required []string
	}
	want := map[string]names{
		v1alpha1.PropertyKind:    {"properties", "vprop", "Ready Reason Name Items Suspended(wide) Message(wide) Age", []string{"displayName"}},
		v1alpha1.AccessTokenKind: {"accesstokens", "vtoken", "Ready Reason Class Scope Secret Expires Suspended(wide) Message(wide) Age", []string{"class"}},
		v1alpha1.ContentFilterKind: {
			"contentfilters", "vfilter", "Ready Reason Read Access Items Query(wide) Sort(wide) URL(wide) Suspended(wide) Message(wide) Age", []string{"query"},
		},
		v1alpha1.TagKind: {"tags", "vtag", "Ready Reason Namespace Key Applied Suspended(wide) Message(wide) Age", []string{"key", "namespace"}},
		v1alpha1.ActivateUnitKind: {
			"activateunits", "vunit", "Ready Reason Name Attached URL(wide) Suspended(wide) Message(wide) Age", []string{"clickThroughURL", "imageURL", "name"},
		},
		v1alpha1.WebhookKind: {"webhooks", "vhook", "Ready Reason Delivering Secret URL(wide) Suspended(wide) Message(wide) Age", []string{"url"}},
	}
	got := map[string]names{}
	for kind, crd := range crds(t) {
		v := version(t, crd)
		var columns []string
		for _, c := range v.AdditionalPrinterColumns {
			name := c.Name
			if c.Priority > 0 {
				name += "(wide)"
			}
			columns = append(columns, name)
			if c.Description == "" {
				t.Errorf("%s: column %s has no description", kind, c.Name)
			}
		}
		spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
		got[kind] = names{crd.Spec.Names.Plural, strings.Join(crd.Spec.Names.ShortNames, " "), strings.Join(columns, " "), spec.Required}

		if crd.Spec.Group != v1alpha1.GroupVersion.Group || crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("%s: group %s, scope %s", kind, crd.Spec.Group, crd.Spec.Scope)
		}
		if !slices.Equal(crd.Spec.Names.Categories, []string{"vitrine"}) {
			t.Errorf("%s: categories %v", kind, crd.Spec.Names.Categories)
		}
		if v.Subresources == nil || v.Subresources.Status == nil {
			t.Errorf("%s has no status subresource", kind)
		}
		if !slices.Contains(v.Schema.OpenAPIV3Schema.Required, "spec") {
			t.Errorf("%s: spec is optional", kind)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// TestConventions checks every member of every kind against the mechanical part of the Kubernetes API conventions.
func TestConventions(t *testing.T) {
	for kind, crd := range crds(t) {
		t.Run(kind, func(t *testing.T) {
			root := version(t, crd).Schema.OpenAPIV3Schema
			if root.Description == "" {
				t.Error("the kind has no description")
			}
			for _, part := range []string{"spec", "status"} {
				schema, ok := root.Properties[part]
				if !ok {
					t.Fatalf("there is no %s", part)
				}
				walk(part, schema, func(path string, s apiextensionsv1.JSONSchemaProps) { hold(t, path, s) })
			}
			status := root.Properties["status"]
			if status.Default == nil || string(status.Default.Raw) != `{"observedGeneration":-1}` {
				t.Errorf("the default of status has to be observedGeneration -1: %v", status.Default)
			}
			if c := status.Properties["conditions"]; c.XListType == nil || *c.XListType != "map" || !slices.Equal(c.XListMapKeys, []string{"type"}) {
				t.Error("status.conditions is not a map list by type")
			}
			if _, ok := root.Properties["spec"].Properties["suspend"]; !ok {
				t.Error("there is no spec.suspend")
			}
		})
	}
}

// hold reports the violations of a member.
func hold(t *testing.T, path string, s apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if s.Description == "" && !strings.HasSuffix(path, "[]") {
		t.Errorf("%s has no description", path)
	}
	if s.Default != nil && path != "status" {
		t.Errorf("%s has a default: clients that compare with their manifest would report drift", path)
	}
	switch s.Type {
	case "string":
		if s.MaxLength == nil && len(s.Enum) == 0 && s.Format != "date-time" {
			t.Errorf("%s has no maxLength", path)
		}
	case "array":
		if s.MaxItems == nil {
			t.Errorf("%s has no maxItems", path)
		}
		if s.XListType == nil {
			t.Errorf("%s has no list type", path)
		}
	case "integer":
		if strings.HasPrefix(path, "spec") && (s.Minimum == nil || s.Maximum == nil) {
			t.Errorf("%s has no bounds", path)
		}
	case "number":
		t.Errorf("%s is a floating-point number, which not all clients preserve", path)
	case "object":
		// Labels are a map in every Kubernetes API.
		if s.AdditionalProperties != nil && !strings.HasSuffix(path, ".matchLabels") {
			t.Errorf("%s is a map: a list of named things can be merged and limited", path)
		}
	}
	for _, rule := range s.XValidations {
		if rule.Message == "" || strings.Contains(rule.Message, "self.") || strings.HasSuffix(rule.Message, ".") {
			t.Errorf("%s: the message of %q has to be a sentence without a full stop: %q", path, rule.Rule, rule.Message)
		}
	}
}

// walk visits a schema and all schemas below it. The elements of a list have the path path[].
func walk(path string, s apiextensionsv1.JSONSchemaProps, visit func(string, apiextensionsv1.JSONSchemaProps)) {
	visit(path, s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		walk(path+"."+name, s.Properties[name], visit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(path+"[]", *s.Items.Schema, visit)
	}
}

func version(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.CustomResourceDefinitionVersion {
	t.Helper()
	if len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Name != v1alpha1.GroupVersion.Version {
		t.Fatalf("%s: versions %v", crd.Name, crd.Spec.Versions)
	}
	return crd.Spec.Versions[0]
}
