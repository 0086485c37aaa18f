package verdict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// told returns the conditions of an object as "Type=Status Reason", sorted.
func told(o v1alpha1.Object) []string {
	var list []string
	for _, c := range *o.StatusConditions() {
		list = append(list, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	slices.Sort(list)
	return list
}

// TestSummarise runs one object through a sequence of outcomes. Each outcome starts from the conditions of the previous outcome.
func TestSummarise(t *testing.T) {
	syntax := &query.SyntaxError{Reason: "unbalanced parenthesis", Position: 16}
	query1 := &translate.SpecError{Reason: v1alpha1.ReasonInvalidQuery, Member: "spec.query", Err: syntax}
	walks := map[string][]struct {
		name     string
		err      error
		warnings []query.Warning
		want     []string
	}{
		"a query is broken and fixed": {
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
		"the property is created late": {
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
				name: "the sort", err: &translate.SpecError{Reason: v1alpha1.ReasonInvalidSort, Member: "spec.sortBy", Err: syntax},
				want: []string{"QueryValid=True Valid", "Ready=False InvalidSort", "Stalled=True InvalidSort"},
			},
			{name: "not stalled while it retries", err: errors.New("disk full"), want: []string{"QueryValid=True Valid", "Ready=False InvalidSort", "Reconciling=True Retrying"}},
		},
	}
	for name, walk := range walks {
		t.Run(name, func(t *testing.T) {
			o := &v1alpha1.ContentFilter{}
			o.Generation = 3
			for _, step := range walk {
				Summarise(o, step.warnings, Refuse(o, step.err))
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

// TestSuspendFollowsServing checks that the condition Ready of a suspended Property follows what the library serves, and keeps the
// generation that was applied.
func TestSuspendFollowsServing(t *testing.T) {
	o := &v1alpha1.Property{}
	o.Generation = 3
	Summarise(o, nil, nil)
	o.Generation = 4
	down := NotServed(library.Trouble{Unserved: true, Problem: "the index cannot be opened"})
	for _, step := range []struct {
		ended *Refusal
		want  []string
	}{
		{want: []string{"Ready=True Suspended", "Suspended=True Suspended"}},
		{ended: down, want: []string{"Ready=False NotServed", "Suspended=True Suspended"}},
		{want: []string{"Ready=True Suspended", "Suspended=True Suspended"}},
	} {
		Suspend(o, step.ended)
		if diff := cmp.Diff(step.want, told(o)); diff != "" || Ready(o).ObservedGeneration != 3 {
			t.Errorf("observed generation %d, conditions (-want +got):\n%s", Ready(o).ObservedGeneration, diff)
		}
	}
}

func TestMessages(t *testing.T) {
	syntax := &query.SyntaxError{Reason: "unbalanced parenthesis (opened at position 16)", Position: 20, Expected: `")"`}
	tests := map[string]struct {
		err   error
		holds string
	}{
		"a query":             {err: &translate.SpecError{Reason: v1alpha1.ReasonInvalidQuery, Member: "spec.query", Err: fmt.Errorf("query: %w", syntax)}, holds: "spec.query: " + syntax.Error()},
		"a selector":          {err: &translate.SpecError{Reason: v1alpha1.ReasonInvalidQuery, Member: "spec.selector.query", Err: syntax}, holds: "spec.selector.query: " + syntax.Error()},
		"a member":            {err: &translate.SpecError{Reason: v1alpha1.ReasonInvalidSpec, Member: "spec.catalogItem", Err: errors.New("too long")}, holds: "spec.catalogItem: too long"},
		"the library refuses": {err: fmt.Errorf("%w: no name", library.ErrInvalid), holds: "no name"},
		"nothing to adopt":    {err: fmt.Errorf("%w: %w", library.ErrInvalid, library.ErrNotFound), holds: "spec.adopt.filterID"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := &v1alpha1.ContentFilter{}
			Summarise(o, nil, Refuse(o, tc.err))
			if got := Ready(o).Message; !strings.Contains(got, tc.holds) {
				t.Errorf("Ready says %q, want %q in it", got, tc.holds)
			}
		})
	}
}

// TestRefuseKeepsOtherErrors checks that an unknown error is retried and not reported as the user's mistake.
func TestRefuseKeepsOtherErrors(t *testing.T) {
	for _, err := range []error{errors.New("disk full"), fmt.Errorf("read back: %w", library.ErrNotFound), library.ErrClosed} {
		if got := Refuse(&v1alpha1.ContentFilter{}, err); !errors.Is(got, err) {
			t.Errorf("Refuse(%v) = %v", err, got)
		}
	}
	if got := Refuse(&v1alpha1.ContentFilter{}, nil); got != nil {
		t.Errorf("Refuse(nil) = %v", got)
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	o := &v1alpha1.ContentFilter{}
	Summarise(o, nil, &Refusal{Reason: v1alpha1.ReasonInvalidSpec, Problem: strings.Repeat("é", maxMessage)})
	if got := Ready(o).Message; len(got) > maxMessage || !strings.HasSuffix(got, "é…") {
		t.Errorf("a message of %d bytes that ends with %q", len(got), got[len(got)-8:])
	}
}
