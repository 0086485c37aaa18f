package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

func TestStateOf(t *testing.T) {
	const generation = 2
	condition := func(kind, reason string, status metav1.ConditionStatus, observed int64) metav1.Condition {
		return metav1.Condition{Type: kind, Reason: reason, Status: status, ObservedGeneration: observed}
	}
	ready := condition(v1alpha1.ReadyCondition, v1alpha1.ReasonServed, metav1.ConditionTrue, generation)
	earlier := condition(v1alpha1.ReadyCondition, v1alpha1.ReasonSuspended, metav1.ConditionTrue, generation-1)
	invalid := condition(v1alpha1.ReadyCondition, v1alpha1.ReasonInvalidQuery, metav1.ConditionFalse, generation)
	missing := condition(v1alpha1.ReadyCondition, v1alpha1.ReasonPropertyNotFound, metav1.ConditionFalse, generation)
	advice := condition(v1alpha1.QueryValidCondition, v1alpha1.ReasonValidWithWarnings, metav1.ConditionTrue, generation)
	unrestricted := condition(v1alpha1.UnrestrictedCondition, v1alpha1.ReasonAllItems, metav1.ConditionTrue, generation)
	unused := condition(v1alpha1.SubjectsUnusedCondition, v1alpha1.ReasonNoIdentityProvider, metav1.ConditionTrue, generation)
	frozen := condition(v1alpha1.SuspendedCondition, v1alpha1.ReasonSuspended, metav1.ConditionTrue, generation)
	stalled := condition(v1alpha1.StalledCondition, v1alpha1.ReasonInvalidQuery, metav1.ConditionTrue, generation)
	tests := map[string]struct {
		observed   int64
		suspended  bool
		conditions []metav1.Condition
		want       v1alpha1.State
	}{
		"not reported on": {observed: -1, want: v1alpha1.State{Phase: v1alpha1.PhaseUnknown, Ready: metav1.ConditionUnknown}},
		"served": {
			observed: generation, conditions: []metav1.Condition{ready},
			want: v1alpha1.State{Phase: v1alpha1.PhaseReady, Ready: metav1.ConditionTrue, Current: true, Tells: &ready},
		},
		"served with advice": {
			observed: generation, conditions: []metav1.Condition{ready, advice},
			want: v1alpha1.State{Phase: v1alpha1.PhaseReady, Ready: metav1.ConditionTrue, Current: true, Advised: true, Tells: &advice},
		},
		"served, a READ-ONLY token reads all items": {
			observed: generation, conditions: []metav1.Condition{ready, unrestricted},
			want: v1alpha1.State{Phase: v1alpha1.PhaseReady, Ready: metav1.ConditionTrue, Current: true, Advised: true, Tells: &unrestricted},
		},
		"served, the subjects have no effect": {
			observed: generation, conditions: []metav1.Condition{ready, unused},
			want: v1alpha1.State{Phase: v1alpha1.PhaseReady, Ready: metav1.ConditionTrue, Current: true, Advised: true, Tells: &unused},
		},
		"changed since it was reported on": {
			observed: generation - 1, conditions: []metav1.Condition{earlier},
			want: v1alpha1.State{Phase: v1alpha1.PhaseUnknown, Ready: metav1.ConditionTrue, Tells: &earlier},
		},
		"stalled": {
			observed: generation, conditions: []metav1.Condition{invalid, stalled},
			want: v1alpha1.State{Phase: v1alpha1.PhaseStalled, Ready: metav1.ConditionFalse, Tells: &invalid},
		},
		"stalled with advice on an earlier query": {
			observed: generation, conditions: []metav1.Condition{invalid, stalled, advice},
			want: v1alpha1.State{Phase: v1alpha1.PhaseStalled, Ready: metav1.ConditionFalse, Advised: true, Tells: &invalid},
		},
		"waiting": {
			observed: generation, conditions: []metav1.Condition{missing},
			want: v1alpha1.State{Phase: v1alpha1.PhaseWaiting, Ready: metav1.ConditionFalse, Tells: &missing},
		},
		"suspended, an earlier generation served": {
			observed: generation, suspended: true, conditions: []metav1.Condition{earlier, frozen, advice},
			want: v1alpha1.State{Phase: v1alpha1.PhaseSuspended, Ready: metav1.ConditionTrue, Advised: true, Tells: &frozen},
		},
		"suspended, not served": {
			observed: generation, suspended: true, conditions: []metav1.Condition{missing, frozen},
			want: v1alpha1.State{Phase: v1alpha1.PhaseSuspended, Ready: metav1.ConditionFalse, Tells: &missing},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := &v1alpha1.ContentFilter{ObjectMeta: metav1.ObjectMeta{Generation: generation}}
			o.Spec.Suspend = tc.suspended
			o.Status.ObservedGeneration, o.Status.Conditions = tc.observed, tc.conditions
			if diff := cmp.Diff(tc.want, v1alpha1.StateOf(o)); diff != "" {
				t.Errorf("StateOf (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	for _, k := range v1alpha1.Kinds() {
		if got := v1alpha1.NewObject(k.Name); got == nil {
			t.Errorf("NewObject(%q) = nil", k.Name)
		}
		if crd, ok := crds(t)[k.Name]; !ok || crd.Name != k.Resource().GroupResource().String() {
			t.Errorf("no CRD of %s has the name %s", k.Name, k.Resource().GroupResource())
		}
	}
	if got, want := len(v1alpha1.Kinds()), len(crds(t)); got != want {
		t.Errorf("%d kinds are registered, and there are %d CRDs", got, want)
	}
	if got := v1alpha1.NewObject("Nothing"); got != nil {
		t.Errorf("NewObject of no kind = %T", got)
	}
}
