package controllers

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/query"
)

// summarise sets the conditions and the observed generation of o from what one round came to. It is the only place that
// sets them. err is nil, *stalled, *waiting, or transient.
func summarise(o v1alpha1.Object, warnings []query.Warning, hasQuery bool, err error) {
	*o.StatusObservedGeneration() = o.GetGeneration()
	var st *stalled
	var wait *waiting
	switch {
	case err == nil:
		set(o, v1alpha1.ReadyCondition, metav1.ConditionTrue, v1alpha1.ReasonServed, "The newest spec is served.")
		unset(o, v1alpha1.ReconcilingCondition, v1alpha1.StalledCondition, v1alpha1.ConflictCondition)
	case errors.As(err, &st):
		set(o, v1alpha1.ReadyCondition, metav1.ConditionFalse, st.reason, st.message)
		set(o, v1alpha1.StalledCondition, metav1.ConditionTrue, st.reason, st.message)
		unset(o, v1alpha1.ReconcilingCondition)
		if st.condition != v1alpha1.ConflictCondition {
			unset(o, v1alpha1.ConflictCondition)
		}
		if st.condition != "" {
			status := metav1.ConditionFalse
			if st.status {
				status = metav1.ConditionTrue
			}
			set(o, st.condition, status, st.reason, st.message)
		}
	case errors.As(err, &wait):
		set(o, v1alpha1.ReadyCondition, metav1.ConditionFalse, wait.reason, wait.message)
		set(o, v1alpha1.ReconcilingCondition, metav1.ConditionTrue, wait.reason, wait.message)
		unset(o, v1alpha1.StalledCondition, v1alpha1.ConflictCondition)
	default:
		// What was served goes on being served, so Ready stays what it was.
		message := "Nothing to do but wait: it is tried again after: " + err.Error()
		set(o, v1alpha1.ReconcilingCondition, metav1.ConditionTrue, v1alpha1.ReasonRetrying, message)
		if meta.FindStatusCondition(*o.StatusConditions(), v1alpha1.ReadyCondition) == nil {
			set(o, v1alpha1.ReadyCondition, metav1.ConditionUnknown, v1alpha1.ReasonRetrying, message)
		}
		unset(o, v1alpha1.StalledCondition)
	}
	unset(o, v1alpha1.SuspendedCondition)
	if st == nil || st.condition != v1alpha1.QueryValidCondition {
		queryValid(o, warnings, hasQuery)
	}
}

func queryValid(o v1alpha1.Object, warnings []query.Warning, hasQuery bool) {
	switch {
	case !hasQuery:
		unset(o, v1alpha1.QueryValidCondition)
	case len(warnings) == 0:
		set(o, v1alpha1.QueryValidCondition, metav1.ConditionTrue, v1alpha1.ReasonValid, "The query can be used.")
	default:
		messages := make([]string, len(warnings))
		for i, w := range warnings {
			messages[i] = w.Message
		}
		set(o, v1alpha1.QueryValidCondition, metav1.ConditionTrue, v1alpha1.ReasonValidWithWarnings, strings.Join(messages, " "))
	}
}

// suspend marks o as frozen. Ready keeps its status and its observed generation; QueryValid becomes Unknown, because the query is
// not checked. err is nil, or *stalled where what is served has ended by itself.
func suspend(o v1alpha1.Object, err error) {
	*o.StatusObservedGeneration() = o.GetGeneration()
	const message = "Set spec.suspend to false to go on: nothing is reconciled, the last state stays served."
	set(o, v1alpha1.SuspendedCondition, metav1.ConditionTrue, v1alpha1.ReasonSuspended, message)
	var st *stalled
	ready := readyCondition(o)
	switch {
	case ready.Type == "":
		set(o, v1alpha1.ReadyCondition, metav1.ConditionUnknown, v1alpha1.ReasonSuspended, message)
	case ready.Status == metav1.ConditionTrue && errors.As(err, &st):
		set(o, v1alpha1.ReadyCondition, metav1.ConditionFalse, st.reason, st.message)
		set(o, v1alpha1.StalledCondition, metav1.ConditionTrue, st.reason, st.message)
	case ready.Status == metav1.ConditionTrue:
		ready.Reason = v1alpha1.ReasonSuspended
		ready.Message = fmt.Sprintf("Generation %d is served while spec.suspend is true.", ready.ObservedGeneration)
		meta.SetStatusCondition(o.StatusConditions(), ready)
	}
	if meta.IsStatusConditionTrue(*o.StatusConditions(), v1alpha1.QueryValidCondition) {
		set(o, v1alpha1.QueryValidCondition, metav1.ConditionUnknown, v1alpha1.ReasonSuspended, "The query is not checked while spec.suspend is true.")
	}
	// Nothing is under way while it lasts.
	unset(o, v1alpha1.ReconcilingCondition)
}

// maxMessage is the longest message that the API server takes.
const maxMessage = 32768

func set(o v1alpha1.Object, kind string, status metav1.ConditionStatus, reason, message string) {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-3], "") + "…"
	}
	meta.SetStatusCondition(o.StatusConditions(), metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: o.GetGeneration(),
	})
}

func unset(o v1alpha1.Object, kinds ...string) {
	for _, kind := range kinds {
		meta.RemoveStatusCondition(o.StatusConditions(), kind)
	}
}

// readyLine is the Ready condition in short, for events: "" when there is none.
func readyLine(o v1alpha1.Object) string {
	c := meta.FindStatusCondition(*o.StatusConditions(), v1alpha1.ReadyCondition)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s", c.Status, c.Reason)
}
