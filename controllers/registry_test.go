package controllers

import (
	"testing"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

func TestEveryKindHasReconciler(t *testing.T) {
	there := map[string]bool{}
	for _, k := range kinds() {
		there[k.Name] = true
		if k.Definition.String() != k.Name {
			t.Errorf("%s: its definitions are of kind %s", k.Name, k.Definition)
		}
	}
	for _, k := range v1alpha1.Kinds() {
		if !there[k.Name] {
			t.Errorf("%s has no reconciler", k.Name)
		}
	}
}
