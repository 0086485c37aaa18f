package controllers

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// stalled is an error that lasts until somebody changes something.
type stalled struct {
	reason  string
	message string // begins with what to do
	// condition is the specific condition that the error is about, "" for none, and status the value it takes.
	condition string
	status    bool
}

func (e *stalled) Error() string { return e.message }

// waiting is an error that lasts until something that is expected comes.
type waiting struct {
	reason  string
	message string
}

func (e *waiting) Error() string { return e.message }

// Every other error is transient: it is tried again, with backoff.

// refusal maps why a definition was refused, by translation or by the library, to what its object shows. It is the only
// place that knows. Errors that are neither stalled nor waiting come back as they are.
func refusal(o v1alpha1.Object, err error) error {
	var spec *translate.SpecError
	var syntax *query.SyntaxError
	var conflict *library.ConflictError
	var taken *library.IDTakenError
	switch {
	case errors.As(err, &spec) && spec.Member == "spec.sortBy":
		return &stalled{reason: v1alpha1.ReasonInvalidSort, message: fmt.Sprintf("Mend %s: %s", spec.Member, inWords(spec))}
	case errors.As(err, &spec) && (strings.HasSuffix(spec.Member, "query")):
		return &stalled{
			reason: v1alpha1.ReasonInvalidQuery, message: fmt.Sprintf("Mend %s: %s", spec.Member, inWords(spec)),
			condition: v1alpha1.QueryValidCondition, status: false,
		}
	case errors.As(err, &spec):
		return &stalled{reason: v1alpha1.ReasonInvalidSpec, message: fmt.Sprintf("Mend %s: %s", spec.Member, inWords(spec))}
	case errors.As(err, &syntax):
		return &stalled{reason: v1alpha1.ReasonInvalidQuery, message: "Mend the query: " + syntax.Error(), condition: v1alpha1.QueryValidCondition}
	case errors.As(err, &conflict):
		message := fmt.Sprintf("Change or delete one of the two objects: %s is held by %s", conflict.Claim, conflict.Holder)
		if conflict.Holder.Namespace != o.GetNamespace() {
			// A user who may read this object must not learn of objects in another namespace.
			message = fmt.Sprintf("Change this object or what it refers to: %s is held by an object of another namespace", conflict.Claim)
		}
		return &stalled{
			reason: v1alpha1.ReasonClaimHeld, message: message, condition: v1alpha1.ConflictCondition, status: true,
		}
	case errors.As(err, &taken):
		return &stalled{
			reason:    v1alpha1.ReasonIDTaken,
			message:   fmt.Sprintf("Rename the object, or remove what holds the id: id %d is held by %s", taken.ID, taken.Holder),
			condition: v1alpha1.ConflictCondition, status: true,
		}
	case errors.Is(err, library.ErrNoProperty):
		return &waiting{
			reason:  v1alpha1.ReasonPropertyNotFound,
			message: fmt.Sprintf("Apply the Property %q in namespace %s: this object waits for it", o.PropertyName(), o.GetNamespace()),
		}
	case errors.Is(err, library.ErrInvalid) && errors.Is(err, library.ErrNotFound):
		return &stalled{
			reason:  v1alpha1.ReasonAdoptedFilterNotFound,
			message: "Correct spec.adopt.filterID: no filter with that id was made over HTTP in this property",
		}
	case errors.Is(err, library.ErrInvalid):
		return &stalled{reason: v1alpha1.ReasonInvalidSpec, message: "Mend the spec: " + err.Error()}
	}
	return err
}

// inWords prefers the sentence of a SyntaxError, which is the same wherever users meet it, to what wraps it.
func inWords(err *translate.SpecError) string {
	var syntax *query.SyntaxError
	if errors.As(err, &syntax) {
		return syntax.Error()
	}
	return err.Err.Error()
}
