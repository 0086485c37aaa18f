package verdict

import (
	"errors"
	"fmt"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Refusal is the reason why the newest spec of an object is not served. Its fields contain the facts, and Error formats them as a message.
type Refusal struct {
	// Reason is one of the condition reasons of v1alpha1.
	Reason string
	// Member is the path of the member that the user has to correct, such as spec.query, or "" if no single member is wrong.
	Member string
	// Cure tells the user what to do. It is "" if the user only has to correct Member.
	Cure string
	// Problem describes what is wrong.
	Problem string
	// Waiting is true if the refusal is expected to end soon by itself, for example when a missing object is created, and false if it lasts
	// until a user changes something.
	Waiting bool
	// Condition is the specific condition that the refusal sets: QueryValidCondition to False, ConflictCondition to True, or "" for
	// none.
	Condition string
	// Cause is the underlying error, or nil: a *query.SyntaxError for a query or a sort string.
	Cause error
}

// Error returns the message for the conditions: "Member: problem" or "problem: Cure".
func (e *Refusal) Error() string {
	if e.Member != "" {
		return e.Member + ": " + e.Problem
	}
	return e.Problem + ": " + e.Cure
}

// Unwrap returns Cause.
func (e *Refusal) Unwrap() error { return e.Cause }

// Conflict returns the refusal of an object that claims something that another object holds.
func Conflict(reason, cure, problem string) *Refusal {
	return &Refusal{Reason: reason, Cure: cure, Problem: problem, Condition: v1alpha1.ConflictCondition}
}

// NotServed returns the refusal of a Property that the server cannot serve.
func NotServed(t library.Trouble) *Refusal {
	cure := "correct the cause; the server retries, and /readyz and the log of the server have the details"
	if t.Passing {
		cure = "wait until this is complete; /readyz of the server shows the progress"
	}
	return &Refusal{
		Reason: v1alpha1.ReasonNotServed, Waiting: true, Cure: cure, Problem: "requests for the items of this Property get 503, because " + t.Problem,
	}
}

// Refuse converts an error from the translation of an object, from its Secret or from the library into a *Refusal. It returns every other
// error unchanged, because such an error is transient and the caller retries.
func Refuse(o v1alpha1.Object, err error) error {
	var refused *Refusal
	var spec *translate.SpecError
	var syntax *query.SyntaxError
	var conflict *library.ConflictError
	var taken *library.IDTakenError
	switch {
	case err == nil || errors.As(err, &refused):
		return err
	case errors.As(err, &spec):
		r := &Refusal{Reason: spec.Reason, Member: spec.Member, Problem: spec.Err.Error(), Cause: err}
		if errors.As(err, &syntax) {
			r.Problem = syntax.Error() // report only the syntax error, without the text of the errors that wrap it
		}
		if spec.Reason == v1alpha1.ReasonInvalidQuery {
			r.Condition = v1alpha1.QueryValidCondition
		}
		return r
	case errors.As(err, &syntax):
		member, _ := v1alpha1.QueryOf(o)
		return &Refusal{
			Reason: v1alpha1.ReasonInvalidQuery, Member: member, Problem: syntax.Error(), Condition: v1alpha1.QueryValidCondition, Cause: err,
		}
	case errors.As(err, &conflict):
		r := Conflict(v1alpha1.ReasonClaimHeld, "change or delete one of the two objects", fmt.Sprintf("%s is held by %s", conflict.Claim, conflict.Holder))
		if conflict.Holder.Namespace != o.GetNamespace() {
			// A user who may read this object may not be allowed to read other namespaces, so do not name an object in another namespace.
			r.Cure = "change this object or what it refers to"
			r.Problem = fmt.Sprintf("%s is held by an object in another namespace", conflict.Claim)
		}
		r.Cause = err
		return r
	case errors.As(err, &taken):
		r := Conflict(v1alpha1.ReasonIDTaken, "rename this object, or remove the other one", fmt.Sprintf("id %d is held by %s", taken.ID, taken.Holder))
		if !taken.Holder.IsHTTP() && taken.Holder.Namespace != o.GetNamespace() {
			r.Problem = fmt.Sprintf("id %d is held by an object in another namespace", taken.ID)
		}
		r.Cause = err
		return r
	case errors.Is(err, library.ErrNoProperty):
		r := &Refusal{
			Reason: v1alpha1.ReasonPropertyNotFound, Waiting: true, Cause: err,
			Problem: fmt.Sprintf("the Property %q does not exist in namespace %s, or is not served", o.PropertyName(), o.PropertyNamespace()),
			Cure:    "apply or correct the Property",
		}
		if v1alpha1.Guest(o) {
			// Do not reveal whether a Property in another namespace exists.
			r.Problem += ", or does not permit this object in spec.allowFrom"
			r.Cure = "correct spec.propertyRef, or ask the owner of that namespace"
		}
		return r
	case errors.Is(err, library.ErrInvalid) && errors.Is(err, library.ErrNotFound):
		return &Refusal{
			Reason: v1alpha1.ReasonAdoptedFilterNotFound, Member: "spec.adopt.filterID", Cause: err,
			Problem: "the property has no filter with this id that was created over HTTP",
		}
	case errors.Is(err, library.ErrInvalid):
		return &Refusal{Reason: v1alpha1.ReasonInvalidSpec, Cure: "correct the spec", Problem: err.Error(), Cause: err}
	}
	return err
}
