package controllers

import (
	"slices"
	"testing"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// TestKinds checks that each kind of the API has a kind of definition and a reconciler.
func TestKinds(t *testing.T) {
	var api, definitions, reconciled []string
	for _, k := range v1alpha1.Kinds() {
		api = append(api, k.Name)
	}
	for _, k := range library.Kinds() {
		definitions = append(definitions, k.String())
	}
	for _, k := range kinds() {
		reconciled = append(reconciled, k.Name)
	}
	slices.Sort(api)
	slices.Sort(definitions)
	slices.Sort(reconciled)
	if !slices.Equal(api, definitions) || !slices.Equal(api, reconciled) {
		t.Errorf("the kinds of the API are %q, of definitions %q, and of reconcilers %q", api, definitions, reconciled)
	}
}
