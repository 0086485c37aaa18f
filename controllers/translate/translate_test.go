package translate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

func unit(change func(*v1alpha1.ActivateUnit)) *v1alpha1.ActivateUnit {
	o := &v1alpha1.ActivateUnit{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sandals", CreationTimestamp: metav1.Time{Time: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}},
		Spec:       v1alpha1.ActivateUnitSpec{Name: "Sandals", ImageURL: "https://cdn.example/s.png", ClickThroughURL: "https://shop.example/s"},
	}
	if change != nil {
		change(o)
	}
	return o
}

func definition(t *testing.T, o *v1alpha1.ActivateUnit) library.Definition {
	t.Helper()
	d, _, err := translate.ActivateUnit(install, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestModified checks that last_modified changes only when the unit changes. Otherwise, every start would change all units.
func TestModified(t *testing.T) {
	stored := definition(t, unit(nil))
	stored.Unit.Unit.LastModified = "2026-04-01T00:00:00Z"
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		next   *v1alpha1.ActivateUnit
		stored *library.Definition
		want   string
	}{
		"a new unit":        {next: unit(nil), want: "2026-03-01T08:00:00Z"},
		"nothing changed":   {next: unit(nil), stored: &stored, want: "2026-04-01T00:00:00Z"},
		"another name":      {next: unit(func(o *v1alpha1.ActivateUnit) { o.Spec.Name = "Boots" }), stored: &stored, want: "2026-05-01T00:00:00Z"},
		"the items changed": {next: unit(func(o *v1alpha1.ActivateUnit) { o.Spec.Items = []int64{1} }), stored: &stored, want: "2026-05-01T00:00:00Z"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			next := definition(t, tc.next)
			got := translate.Modified(next, tc.stored, now)
			if diff := cmp.Diff(tc.want, got.Unit.Unit.LastModified); diff != "" {
				t.Errorf("LastModified (-want +got):\n%s", diff)
			}
			if next.Unit.Unit.LastModified != "2026-03-01T08:00:00Z" {
				t.Error("the argument has changed")
			}
		})
	}
}

func TestFreeJSONIsBounded(t *testing.T) {
	tests := map[string]struct {
		bytes, levels int
		good          bool
	}{
		"56 levels":      {bytes: 2, levels: 56, good: true},
		"one level more": {bytes: 2, levels: 57},
		"64 KiB":         {bytes: 64 << 10, good: true},
		"one byte more":  {bytes: 64<<10 + 1},
		"empty":          {bytes: 0, good: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var text []byte
			if tc.bytes > 0 {
				text = []byte(strings.Repeat("[", tc.levels) + `"` + strings.Repeat("x", tc.bytes-2) + `"` + strings.Repeat("]", tc.levels))
			}
			_, _, err := translate.ActivateUnit(install, unit(func(o *v1alpha1.ActivateUnit) { o.Spec.CatalogItem = &v1alpha1.JSON{Raw: text} }))
			var spec *translate.SpecError
			if tc.good != (err == nil) || err != nil && (!errors.As(err, &spec) || spec.Member != "spec.catalogItem") {
				t.Errorf("%d bytes: %v", tc.bytes, err)
			}
		})
	}
}
