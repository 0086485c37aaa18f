package controllers

import (
	"errors"
	"fmt"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Judgement is what a spec says by itself, without a cluster and without a store.
type Judgement struct {
	// Definition is what the library would be given. That of an AccessToken has no values: they come from Secrets.
	Definition library.Definition
	// Warnings speak of the query or the selector.
	Warnings []query.Warning
}

// Refusal says why an object is not served, in the words of its Ready condition.
type Refusal struct {
	// Reason is one of the condition reasons of v1alpha1.
	Reason string
	// Message begins with what to do.
	Message string
	// Member is the path of the member that it is about, such as spec.query; "" where it is about none alone.
	Member string

	cause error
}

func (e *Refusal) Error() string { return e.Message }

// Unwrap returns the cause: *query.SyntaxError for a query or a sort string.
func (e *Refusal) Unwrap() error { return e.cause }

// Judge says of an object what its reconciler would, as far as that depends on the object alone. The error is a *Refusal.
func Judge(o v1alpha1.Object) (Judgement, error) {
	var j Judgement
	var err error
	switch o := o.(type) {
	case *v1alpha1.Property:
		j.Definition, err = translate.Property("", o)
	case *v1alpha1.ContentFilter:
		j.Definition, j.Warnings, err = translate.ContentFilter("", o)
	case *v1alpha1.Tag:
		j.Definition, j.Warnings, err = translate.Tag("", o)
	case *v1alpha1.ActivateUnit:
		j.Definition, j.Warnings, err = translate.ActivateUnit("", o)
	case *v1alpha1.AccessToken:
		j.Definition = translate.AccessToken("", o, nil, nil)
	default:
		return j, fmt.Errorf("judge a %T: it is none of the five kinds", o)
	}
	if err == nil {
		err = library.Check(j.Definition)
	}
	return j, Refuse(o, err)
}

// Refuse returns the *Refusal of an object for an error of its translation or of the library, and err itself where it
// refuses nothing.
func Refuse(o v1alpha1.Object, err error) error {
	judged := refusal(o, err)
	r := &Refusal{cause: err}
	var st *stalled
	var wait *waiting
	switch {
	case errors.As(judged, &st):
		r.Reason, r.Message = st.reason, st.message
	case errors.As(judged, &wait):
		r.Reason, r.Message = wait.reason, wait.message
	default:
		return err
	}
	var spec *translate.SpecError
	if errors.As(err, &spec) {
		r.Member = spec.Member
	}
	return r
}
