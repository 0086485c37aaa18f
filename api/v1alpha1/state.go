package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is the state of the newest spec of an object. An object is in exactly one phase.
type Phase string

// Phases of an object.
const (
	PhaseReady     Phase = "ready"
	PhaseStalled   Phase = "stalled"   // not served until a user makes a change
	PhaseWaiting   Phase = "waiting"   // waits for something that is expected soon
	PhaseSuspended Phase = "suspended" // frozen by spec.suspend
	PhaseUnknown   Phase = "unknown"   // no operator has processed the newest spec yet
)

// Phases lists all phases.
func Phases() []Phase {
	return []Phase{PhaseReady, PhaseStalled, PhaseWaiting, PhaseSuspended, PhaseUnknown}
}

// State summarizes the status of an object.
// +kubebuilder:object:generate=false
type State struct {
	Phase Phase
	// Ready is the status of the Ready condition, or Unknown if there is none.
	Ready metav1.ConditionStatus
	// Current is true if the newest generation is served: a Ready condition of an earlier generation says nothing about it.
	Current bool
	// Advised is true if there are warnings about the query, if a READ-ONLY token reads all items, if the subjects of a token have no
	// effect, or if the deliveries of a webhook fail.
	Advised bool
	// Tells is the condition that a user should read: Ready if it is not True, otherwise Suspended if it is present, otherwise
	// QueryValid if it has warnings, otherwise Unrestricted, SubjectsUnused or Delivering=False if it is present, otherwise Ready. It is nil if there is no
	// Ready condition.
	Tells *metav1.Condition
}

// StateOf returns the state of an object.
func StateOf(o Object) State {
	conditions := *o.StatusConditions()
	ready := meta.FindStatusCondition(conditions, ReadyCondition)
	valid := meta.FindStatusCondition(conditions, QueryValidCondition)
	advice := meta.FindStatusCondition(conditions, UnrestrictedCondition)
	if advice == nil {
		advice = meta.FindStatusCondition(conditions, SubjectsUnusedCondition)
	}
	if meta.IsStatusConditionFalse(conditions, DeliveringCondition) {
		advice = meta.FindStatusCondition(conditions, DeliveringCondition)
	}
	if valid != nil && valid.Reason == ReasonValidWithWarnings {
		advice = valid
	}
	s := State{Phase: PhaseWaiting, Ready: metav1.ConditionUnknown, Tells: ready, Advised: advice != nil}
	if ready != nil {
		s.Ready = ready.Status
	}
	served := s.Ready == metav1.ConditionTrue
	s.Current = served && ready.ObservedGeneration == o.GetGeneration()
	switch {
	case o.Suspended():
		s.Phase = PhaseSuspended
	case ready == nil || *o.StatusObservedGeneration() != o.GetGeneration():
		s.Phase = PhaseUnknown
	case served:
		s.Phase = PhaseReady
	case meta.IsStatusConditionTrue(conditions, StalledCondition):
		s.Phase = PhaseStalled
	}
	frozen := meta.FindStatusCondition(conditions, SuspendedCondition)
	switch {
	case served && o.Suspended() && frozen != nil:
		s.Tells = frozen
	case served && s.Advised:
		s.Tells = advice
	}
	return s
}
