package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
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

// TestSummarise walks one object through outcomes, each beginning where the one before it ended.
func TestSummarise(t *testing.T) {
	syntax := &query.SyntaxError{Reason: "unbalanced bracket", Position: 16}
	query1 := &translate.SpecError{Member: "spec.query", Err: syntax}
	walks := map[string][]struct {
		name     string
		err      error
		warnings []query.Warning
		want     []string
	}{
		"a query is broken and mended": {
			{name: "good", want: []string{"QueryValid=True Valid", "Ready=True Served"}},
			{name: "broken", err: query1, want: []string{"QueryValid=False InvalidQuery", "Ready=False InvalidQuery", "Stalled=True InvalidQuery"}},
			{
				name: "advised", warnings: []query.Warning{{Code: query.WarnUnknownField, Message: "there is no field"}},
				want: []string{"QueryValid=True ValidWithWarnings", "Ready=True Served"},
			},
		},
		"a claim is lost and won": {
			{
				name: "lost", err: &library.ConflictError{Claim: "tag a:b", Holder: library.Owner{Kind: library.KindTag, Namespace: "shop", Name: "x"}},
				want: []string{"Conflict=True ClaimHeld", "QueryValid=True Valid", "Ready=False ClaimHeld", "Stalled=True ClaimHeld"},
			},
			{
				name: "the id is taken", err: &library.IDTakenError{ID: 7},
				want: []string{"Conflict=True IDTaken", "QueryValid=True Valid", "Ready=False IDTaken", "Stalled=True IDTaken"},
			},
			{name: "broken", err: query1, want: []string{"QueryValid=False InvalidQuery", "Ready=False InvalidQuery", "Stalled=True InvalidQuery"}},
			{name: "won", want: []string{"QueryValid=True Valid", "Ready=True Served"}},
		},
		"the property comes late": {
			{
				name: "waits", err: fmt.Errorf("apply: %w", library.ErrNoProperty),
				want: []string{"QueryValid=True Valid", "Ready=False PropertyNotFound", "Reconciling=True PropertyNotFound"},
			},
			{name: "there", want: []string{"QueryValid=True Valid", "Ready=True Served"}},
		},
		"the store fails for a while": {
			{name: "at first", err: errors.New("disk full"), want: []string{"QueryValid=True Valid", "Ready=Unknown Retrying", "Reconciling=True Retrying"}},
			{name: "good", want: []string{"QueryValid=True Valid", "Ready=True Served"}},
			{name: "again", err: errors.New("disk full"), want: []string{"QueryValid=True Valid", "Ready=True Served", "Reconciling=True Retrying"}},
			{
				name: "the sort", err: &translate.SpecError{Member: "spec.sortBy", Err: syntax},
				want: []string{"QueryValid=True Valid", "Ready=False InvalidSort", "Stalled=True InvalidSort"},
			},
			{name: "not stalled while it retries", err: errors.New("disk full"), want: []string{"QueryValid=True Valid", "Ready=False InvalidSort", "Reconciling=True Retrying"}},
		},
	}
	for name, walk := range walks {
		t.Run(name, func(t *testing.T) {
			o := filter()
			for _, step := range walk {
				summarise(o, step.warnings, true, refusal(o, step.err))
				if diff := cmp.Diff(step.want, told(o)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", step.name, diff)
				}
				if o.Status.ObservedGeneration != o.Generation {
					t.Errorf("%s: observedGeneration is %d", step.name, o.Status.ObservedGeneration)
				}
			}
		})
	}
}

func TestMessages(t *testing.T) {
	syntax := &query.SyntaxError{Reason: "unbalanced bracket (opened at position 16)", Position: 20, Expected: `")"`}
	tests := map[string]struct {
		err   error
		holds string
	}{
		"the words of the query language": {err: &translate.SpecError{Member: "spec.query", Err: fmt.Errorf("query: %w", syntax)}, holds: "Mend spec.query: " + syntax.Error()},
		"a selector":                      {err: &translate.SpecError{Member: "spec.selector.query", Err: syntax}, holds: "Mend spec.selector.query: " + syntax.Error()},
		"a member":                        {err: &translate.SpecError{Member: "spec.catalogItem", Err: errors.New("too long")}, holds: "Mend spec.catalogItem: too long"},
		"the library refuses":             {err: fmt.Errorf("%w: no name", library.ErrInvalid), holds: "no name"},
		"nothing to adopt":                {err: fmt.Errorf("%w: %w", library.ErrInvalid, library.ErrNotFound), holds: "spec.adopt.filterID"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := filter()
			summarise(o, nil, true, refusal(o, tc.err))
			if got := readyCondition(o).Message; !strings.Contains(got, tc.holds) {
				t.Errorf("Ready says %q, want %q in it", got, tc.holds)
			}
		})
	}
}

// TestRefusalLeavesOthers holds that an error which nobody can name is tried again and not taken for the user's.
func TestRefusalLeavesOthers(t *testing.T) {
	for _, err := range []error{errors.New("disk full"), fmt.Errorf("read back: %w", library.ErrNotFound), library.ErrClosed} {
		if got := refusal(filter(), err); !errors.Is(got, err) {
			t.Errorf("refusal(%v) = %v", err, got)
		}
	}
	if got := refusal(filter(), nil); got != nil {
		t.Errorf("refusal(nil) = %v", got)
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	o := filter()
	summarise(o, nil, false, &stalled{reason: v1alpha1.ReasonInvalidSpec, message: strings.Repeat("é", maxMessage)})
	if got := readyCondition(o).Message; len(got) > maxMessage || !strings.HasSuffix(got, "é…") {
		t.Errorf("a message of %d bytes that ends with %q", len(got), got[len(got)-8:])
	}
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
	if w.stale(library.KindFilter, at("5")) {
		t.Error("what was never written cannot be stale")
	}
	w.note(library.KindFilter, at("10"))
	for _, step := range []struct {
		version string
		kind    library.Kind
		want    bool
	}{
		{"9", library.KindFilter, true},
		{"9", library.KindTag, false}, // another object
		{"9", library.KindFilter, true},
		{"?", library.KindFilter, true}, // nobody can tell
		{"10", library.KindFilter, false},
		{"9", library.KindFilter, false}, // the cache never goes back: it is forgotten
	} {
		if got := w.stale(step.kind, at(step.version)); got != step.want {
			t.Errorf("%s at version %s: stale = %t, want %t", step.kind, step.version, got, step.want)
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
