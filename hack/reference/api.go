package reference

import (
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"sigs.k8s.io/yaml"
)

// definition is the part of a CRD that the page shows.
type definition struct {
	Spec struct {
		Group string
		Names struct {
			Kind, Plural string
			ShortNames   []string
		}
		Versions []struct {
			Name   string
			Schema struct {
				OpenAPIV3Schema *openapi3.Schema `json:"openAPIV3Schema"`
			}
			AdditionalPrinterColumns []struct {
				Name, Description string
				Priority          int
			}
		}
	}
}

// API returns the reference of the kinds, from their CRDs in YAML.
func API(crds ...[]byte) (string, error) {
	p := newPage("API reference: the six kinds", "config/crd/bases", "All kinds belong to the API group `vitrine.dev`, version `v1alpha1`. [The six kinds](../kinds.md) has an example of each kind, and the meaning of\n"+
		"every condition and reason. `kubectl explain` shows the same descriptions.")
	for _, data := range crds {
		var d definition
		if err := yaml.Unmarshal(data, &d); err != nil {
			return "", fmt.Errorf("read a CRD: %w", err)
		}
		names, version := d.Spec.Names, d.Spec.Versions[0]
		top := version.Schema.OpenAPIV3Schema
		p.line("\n## %s\n\n%s", names.Kind, prose(top.Description))
		p.line("\n`apiVersion: %s/%s`, `kind: %s`. In kubectl: `%s`, `%s`.", d.Spec.Group, version.Name, names.Kind, names.Plural, strings.Join(names.ShortNames, "`, `"))
		for _, rule := range append(rules(top), rules(top.Properties["spec"].Value)...) {
			p.line("\nRule: %s.", rule)
		}
		for _, part := range []string{"spec", "status"} {
			s := top.Properties[part].Value
			// Do not list the members of a condition, because they are the same in all Kubernetes APIs.
			if conditions := s.Properties["conditions"]; conditions != nil {
				conditions.Value.Items = openapi3.NewSchemaRef("", &openapi3.Schema{Type: &openapi3.Types{"Condition"}})
			}
			p.table([]string{part, "type", "description"}, rows(s, ""))
		}
		var columns [][]string
		for _, c := range version.AdditionalPrinterColumns {
			shown := "always"
			if c.Priority > 0 {
				shown = "with `-o wide`"
			}
			columns = append(columns, []string{c.Name, shown, prose(c.Description)})
		}
		p.table([]string{"column of `kubectl get`", "shown", "description"}, columns)
	}
	return p.String(), nil
}
