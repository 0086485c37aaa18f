package controllers

import (
	"testing"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

func TestEveryKindHasItsReconciler(t *testing.T) {
	there := map[string]bool{}
	for _, k := range kinds() {
		there[k.Name] = true
		if k.report == nil || k.library.String() != k.Name {
			t.Errorf("%s: report %t, kind of definition %s", k.Name, k.report != nil, k.library)
		}
	}
	for _, k := range v1alpha1.Kinds() {
		if !there[k.Name] {
			t.Errorf("%s has no reconciler", k.Name)
		}
	}
}
