package controllers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// told is what the conditions of an object tell, as "Type=Status Reason", sorted.
func told(o v1alpha1.Object) []string {
	var list []string
	for _, c := range *o.StatusConditions() {
		list = append(list, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	slices.Sort(list)
	return list
}

func filter() *v1alpha1.ContentFilter {
	return &v1alpha1.ContentFilter{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "summer-wall", Generation: 3}}
}

func TestSetCount(t *testing.T) {
	tests := map[string]struct {
		shown, now int64
		want       bool
	}{
		"the same":               {100, 100, false},
		"less than a tenth more": {100, 109, false},
		"a tenth more":           {100, 110, true},
		"less than a tenth less": {100, 91, false},
		"a tenth less":           {100, 90, true},
		"from none to one":       {0, 1, true},
		"from one to none":       {1, 0, true},
		"from many to none":      {1000, 0, true},
		"one of few":             {5, 6, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			count := &tc.shown
			if got := setCount(&count, tc.now); got != tc.want || got && *count != tc.now || !got && *count != tc.shown {
				t.Errorf("setCount(%d, %d) = %t, and shows %d", tc.shown, tc.now, got, *count)
			}
		})
	}
	var none *int64
	if !setCount(&none, 0) || none == nil {
		t.Error("a count that was never shown is shown, 0 as well")
	}
}

func TestSetMissing(t *testing.T) {
	some := func(n int64) *v1alpha1.MissingItems { return &v1alpha1.MissingItems{Count: n, First: []int64{n}} }
	tests := map[string]struct {
		shown, now *v1alpha1.MissingItems
		want       bool
	}{
		"none and none":  {nil, nil, false},
		"none to some":   {nil, some(1), true},
		"some to none":   {some(1), nil, true},
		"a few more":     {some(100), some(101), false},
		"a tenth more":   {some(100), some(110), true},
		"the same again": {some(3), some(3), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			shown, before := tc.shown, tc.shown.DeepCopy()
			got := setMissing(&shown, tc.now)
			want := before
			if tc.want {
				want = tc.now
			}
			if diff := cmp.Diff(want, shown); got != tc.want || diff != "" {
				t.Errorf("setMissing = %t, want %t; shown (-want +got):\n%s", got, tc.want, diff)
			}
		})
	}
}

func TestWritten(t *testing.T) {
	at := func(version string) *v1alpha1.ContentFilter {
		o := filter()
		o.ResourceVersion = version
		return o
	}
	w := newWritten()
	if w.stale(at("5")) {
		t.Error("what was never written cannot be stale")
	}
	w.note(at("10"))
	other := &v1alpha1.Tag{ObjectMeta: at("9").ObjectMeta}
	for _, step := range []struct {
		o    client.Object
		want bool
	}{
		{at("9"), true},
		{other, false},
		{at("9"), true},
		{at("?"), true}, // cannot be compared
		{at("10"), false},
		{at("9"), false}, // the cache never goes back: it is forgotten
	} {
		if got := w.stale(step.o); got != step.want {
			t.Errorf("%T at version %s: stale = %t, want %t", step.o, step.o.GetResourceVersion(), got, step.want)
		}
	}
}

func TestWaiters(t *testing.T) {
	owner := func(name string) library.Owner {
		return library.Owner{Install: "c", Kind: library.KindTag, Namespace: "shop", Name: name}
	}
	w := newWaiters()
	w.add("shop/default", owner("a"))
	w.add("shop/default", owner("b"))
	w.add("shop/outlet", owner("c"))
	w.remove("shop/default", owner("never added"))
	if diff := cmp.Diff([]library.Owner{owner("b")}, w.others("shop/default", owner("a"))); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}
	if n := len(w.all()); n != 3 {
		t.Errorf("%d wait, want 3", n)
	}
	w.remove("shop/default", owner("b"))
	if got := w.others("shop/default", owner("a")); len(got) != 0 {
		t.Errorf("others after the last has gone: %v", got)
	}
}
