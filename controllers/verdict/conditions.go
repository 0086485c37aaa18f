package verdict

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Summarise sets the conditions and the observed generation of an object after an attempt to serve its newest spec. err is nil, a
// *Refusal or a transient error. warnings concern the query.
func Summarise(o v1alpha1.Object, warnings []query.Warning, err error) {
	*o.StatusObservedGeneration() = o.GetGeneration()
	var r *Refusal
	switch {
	case err == nil:
		set(o, v1alpha1.ReadyCondition, metav1.ConditionTrue, v1alpha1.ReasonServed, "The newest spec is served.")
		unset(o, v1alpha1.ReconcilingCondition, v1alpha1.StalledCondition, v1alpha1.ConflictCondition)
	case errors.As(err, &r):
		set(o, v1alpha1.ReadyCondition, metav1.ConditionFalse, r.Reason, r.Error())
		lasting, other := v1alpha1.StalledCondition, v1alpha1.ReconcilingCondition
		if r.Waiting {
			lasting, other = other, lasting
		}
		set(o, lasting, metav1.ConditionTrue, r.Reason, r.Error())
		unset(o, other)
		switch r.Condition {
		case v1alpha1.ConflictCondition:
			set(o, v1alpha1.ConflictCondition, metav1.ConditionTrue, r.Reason, r.Error())
		case v1alpha1.QueryValidCondition:
			set(o, v1alpha1.QueryValidCondition, metav1.ConditionFalse, r.Reason, r.Error())
			unset(o, v1alpha1.ConflictCondition)
		default:
			unset(o, v1alpha1.ConflictCondition)
		}
	default:
		// The server keeps serving the last applied state, so Ready does not change.
		message := "The operator retries; no action is needed. The last error was: " + err.Error()
		set(o, v1alpha1.ReconcilingCondition, metav1.ConditionTrue, v1alpha1.ReasonRetrying, message)
		if Ready(o).Type == "" {
			set(o, v1alpha1.ReadyCondition, metav1.ConditionUnknown, v1alpha1.ReasonRetrying, message)
		}
		unset(o, v1alpha1.StalledCondition)
	}
	unset(o, v1alpha1.SuspendedCondition)
	if r == nil || r.Condition != v1alpha1.QueryValidCondition {
		queryValid(o, warnings)
	}
}

func queryValid(o v1alpha1.Object, warnings []query.Warning) {
	member, _ := v1alpha1.QueryOf(o)
	switch {
	case member == "":
		unset(o, v1alpha1.QueryValidCondition)
	case len(warnings) == 0:
		set(o, v1alpha1.QueryValidCondition, metav1.ConditionTrue, v1alpha1.ReasonValid, "The query is valid.")
	default:
		messages := make([]string, len(warnings))
		for i, w := range warnings {
			messages[i] = w.Message
		}
		set(o, v1alpha1.QueryValidCondition, metav1.ConditionTrue, v1alpha1.ReasonValidWithWarnings, strings.Join(messages, "; "))
	}
}

// Suspend sets the conditions of an object that spec.suspend freezes. If the last applied state is not served, ended is the refusal to
// report; otherwise, ended is nil. If ended is nil, Ready keeps its status and its observed generation, except that a Property that is
// served again becomes True. QueryValid changes from True to Unknown, because the query is not checked.
func Suspend(o v1alpha1.Object, ended *Refusal) {
	*o.StatusObservedGeneration() = o.GetGeneration()
	const message = "Reconciliation is suspended and the server keeps serving the last applied state: set spec.suspend to false to resume."
	set(o, v1alpha1.SuspendedCondition, metav1.ConditionTrue, v1alpha1.ReasonSuspended, message)
	ready := Ready(o)
	applied := ready.Status == metav1.ConditionTrue || ready.Reason == v1alpha1.ReasonNotServed
	switch {
	case ready.Type == "":
		set(o, v1alpha1.ReadyCondition, metav1.ConditionUnknown, v1alpha1.ReasonSuspended, message)
	case applied && ended != nil && ended.Waiting:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, ended.Reason, ended.Error()
		meta.SetStatusCondition(o.StatusConditions(), ready)
	case applied && ended != nil:
		set(o, v1alpha1.ReadyCondition, metav1.ConditionFalse, ended.Reason, ended.Error())
		set(o, v1alpha1.StalledCondition, metav1.ConditionTrue, ended.Reason, ended.Error())
	case applied:
		ready.Status, ready.Reason = metav1.ConditionTrue, v1alpha1.ReasonSuspended
		ready.Message = fmt.Sprintf("Generation %d is served while spec.suspend is true.", ready.ObservedGeneration)
		meta.SetStatusCondition(o.StatusConditions(), ready)
	}
	if meta.IsStatusConditionTrue(*o.StatusConditions(), v1alpha1.QueryValidCondition) {
		set(o, v1alpha1.QueryValidCondition, metav1.ConditionUnknown, v1alpha1.ReasonSuspended, "The query is not checked while spec.suspend is true.")
	}
	// Nothing is in progress during the suspension.
	unset(o, v1alpha1.ReconcilingCondition)
}

// maxMessage is the maximum length of a condition message that the API server accepts, in bytes.
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

// Ready returns the Ready condition of an object, or the zero condition if there is none.
func Ready(o v1alpha1.Object) metav1.Condition {
	if c := meta.FindStatusCondition(*o.StatusConditions(), v1alpha1.ReadyCondition); c != nil {
		return *c
	}
	return metav1.Condition{}
}
