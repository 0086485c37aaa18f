package controllers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// onlyWhileTrue lists the conditions that an object may have only with the status True.
var onlyWhileTrue = []string{
	v1alpha1.ReconcilingCondition, v1alpha1.StalledCondition, v1alpha1.ConflictCondition, v1alpha1.SuspendedCondition,
	v1alpha1.UnrestrictedCondition, v1alpha1.SubjectsUnusedCondition,
}

// lintStatus returns the violations of the rules that hold for every status of the six kinds.
func lintStatus(u *unstructured.Unstructured) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	raw, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err != nil {
		return []string{err.Error()}
	}
	if observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); observed > u.GetGeneration() {
		say("observedGeneration %d is ahead of generation %d", observed, u.GetGeneration())
	}
	conditions := map[string]metav1.Condition{}
	for _, r := range raw {
		var c metav1.Condition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.(map[string]any), &c); err != nil {
			return []string{err.Error()}
		}
		if _, twice := conditions[c.Type]; twice {
			say("%s stands there twice", c.Type)
		}
		conditions[c.Type] = c
		if c.Reason == "" || c.Message == "" || c.LastTransitionTime.IsZero() {
			say("%s lacks a reason, a message or a time: %+v", c.Type, c)
		}
		if c.ObservedGeneration < 1 || c.ObservedGeneration > u.GetGeneration() {
			say("%s observed generation %d of %d", c.Type, c.ObservedGeneration, u.GetGeneration())
		}
		if slices.Contains(onlyWhileTrue, c.Type) && c.Status != metav1.ConditionTrue {
			say("%s is %s: it has to be left out instead", c.Type, c.Status)
		}
	}
	ready, ok := conditions[v1alpha1.ReadyCondition]
	if !ok {
		return append(wrong, "there is no Ready condition")
	}
	_, reconciling := conditions[v1alpha1.ReconcilingCondition]
	_, stalled := conditions[v1alpha1.StalledCondition]
	_, conflict := conditions[v1alpha1.ConflictCondition]
	_, suspended := conditions[v1alpha1.SuspendedCondition]
	switch {
	case reconciling && stalled:
		say("Reconciling and Stalled exclude each other")
	case stalled && ready.Status != metav1.ConditionFalse:
		say("Stalled while Ready is %s", ready.Status)
	case ready.Status == metav1.ConditionFalse && !stalled && !reconciling && !suspended:
		say("Ready=False without Stalled or Reconciling: users cannot tell whether to wait")
	case conflict && !stalled:
		say("Conflict without Stalled")
	}
	if valid, ok := conditions[v1alpha1.QueryValidCondition]; ok && valid.Status == metav1.ConditionFalse && !stalled {
		say("QueryValid=False without Stalled")
	}
	if subject, problem, ok := strings.Cut(ready.Message, ": "); ready.Status == metav1.ConditionFalse && (!ok || subject == "" || problem == "") {
		say("the message of Ready is not the member at fault or what to do, a colon, and what is wrong: %q", ready.Message)
	}
	return wrong
}

func TestLintStatus(t *testing.T) {
	condition := func(kind, status, message string) map[string]any {
		return map[string]any{
			"type": kind, "status": status, "reason": "Because", "message": message,
			"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": int64(2),
		}
	}
	tests := map[string]struct {
		conditions []any
		observed   int64
		want       []string
	}{
		"valid":             {conditions: []any{condition("Ready", "True", "Served.")}, observed: 2},
		"valid and stalled": {conditions: []any{condition("Ready", "False", "spec.query: it is broken"), condition("Stalled", "True", "spec.query: it is broken")}, observed: 2},
		"no conditions":     {observed: 2, want: []string{"there is no Ready condition"}},
		"ahead": {
			conditions: []any{condition("Ready", "True", "Served.")}, observed: 3,
			want: []string{"observedGeneration 3 is ahead of generation 2"},
		},
		"no cure": {
			conditions: []any{condition("Ready", "False", "spec.query: it is broken")}, observed: 2,
			want: []string{"Ready=False without Stalled or Reconciling: users cannot tell whether to wait"},
		},
		"no member and no cure": {
			conditions: []any{condition("Ready", "False", "It is broken."), condition("Stalled", "True", "It is broken.")}, observed: 2,
			want: []string{`the message of Ready is not the member at fault or what to do, a colon, and what is wrong: "It is broken."`},
		},
		"both": {
			conditions: []any{condition("Ready", "False", "spec.query: it is broken"), condition("Stalled", "True", "x"), condition("Reconciling", "True", "x")}, observed: 2,
			want: []string{"Reconciling and Stalled exclude each other"},
		},
		"a false condition that is present": {
			conditions: []any{condition("Ready", "True", "Served."), condition("Stalled", "False", "x")}, observed: 2,
			want: []string{"Stalled is False: it has to be left out instead", "Stalled while Ready is True"},
		},
		"a conflict that moves": {
			conditions: []any{condition("Ready", "True", "Served."), condition("Conflict", "True", "x")}, observed: 2,
			want: []string{"Conflict without Stalled"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"generation": int64(2)},
				"status":   map[string]any{"observedGeneration": tc.observed, "conditions": tc.conditions},
			}}
			if diff := cmp.Diff(tc.want, lintStatus(u)); diff != "" {
				t.Errorf("lintStatus (-want +got):\n%s", diff)
			}
		})
	}
}
