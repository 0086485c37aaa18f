package counts

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// stateOnly is a library that implements only State.
type stateOnly struct {
	library.Library
	state library.State
}

func (l stateOnly) State(context.Context) library.State { return l.state }

func TestProperty(t *testing.T) {
	some := map[library.PropertyID]int64{"shop/default": 5}
	tests := map[string]struct {
		state library.State
		want  int64
		fails bool
	}{
		"served":                    {library.State{Ready: true, PropertyItems: some}, 5, false},
		"another property":          {library.State{Ready: true, PropertyItems: map[library.PropertyID]int64{}}, 0, false},
		"stored, not yet indexed":   {library.State{PropertyItems: some, Problem: "being indexed"}, 5, false},
		"the library has no answer": {library.State{Problem: "the cluster is unreachable"}, 0, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := Look{Library: stateOnly{state: tc.state}}
			got, err := l.Property(t.Context(), "shop/default")
			if got != tc.want || errors.Is(err, library.ErrUnavailable) != tc.fails || (err != nil) != tc.fails {
				t.Errorf("%d items, %v; want %d, fails: %t", got, err, tc.want, tc.fails)
			}
		})
	}
}

func TestSet(t *testing.T) {
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
			if got := Set(&count, tc.now); got != tc.want || got && *count != tc.now || !got && *count != tc.shown {
				t.Errorf("Set(%d, %d) = %t, and shows %d", tc.shown, tc.now, got, *count)
			}
		})
	}
	var none *int64
	if !Set(&none, 0) || none == nil {
		t.Error("a first count of 0 is not shown")
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
			got := SetMissing(&shown, tc.now)
			want := before
			if tc.want {
				want = tc.now
			}
			if diff := cmp.Diff(want, shown); got != tc.want || diff != "" {
				t.Errorf("SetMissing = %t, want %t; shown (-want +got):\n%s", got, tc.want, diff)
			}
		})
	}
}

func TestLookIsDue(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var look Look
	if look.note(time.Time{}); look.due(now) {
		t.Error("a look without an expiry is due")
	}
	look.note(now.Add(time.Hour))
	look.note(now)
	look.note(now.Add(time.Minute))
	if look.due(now.Add(-time.Millisecond)) || !look.due(now) {
		t.Errorf("due from %s on, want %s", look.changes, now)
	}
}
