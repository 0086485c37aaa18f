package dev

import (
	"context"
	"strings"

	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/internal/cli/validate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// rejected contains the errors of a load.
type rejected struct {
	all []library.Rejection
	// properties maps each object that can be decoded to its property.
	properties map[validate.Ref]library.PropertyID
}

// remember stores the errors of a load for Rejected.
func (f *Folder) remember(l Load, judged []validate.Judged) {
	r := &rejected{properties: map[validate.Ref]library.PropertyID{}}
	for _, j := range judged {
		if j.Typed != nil {
			r.properties[j.Ref()] = translate.PropertyID(j.Typed)
		}
	}
	for _, finding := range l.Findings {
		if finding.Severity != validate.Error {
			continue
		}
		one := library.Rejection{Kind: "File", Name: finding.File, Reason: finding.Rule, Message: finding.Message}
		if of := finding.Object; of != (validate.Ref{}) {
			one.Kind, one.Namespace, one.Name = of.Kind, of.Namespace, of.Name
		}
		r.all = append(r.all, one)
	}
	f.rejected.Store(r)
}

// rejectAll stores the reason why a whole load failed, instead of the errors of an earlier load.
func (f *Folder) rejectAll(err error) {
	f.rejected.Store(&rejected{all: []library.Rejection{
		{Kind: "File", Name: strings.Join(f.o.Paths, ", "), Reason: "LoadFailed", Message: err.Error()},
	}})
}

// Rejected returns the errors of the last load that concern a property: the errors of its objects, and the errors of files and objects that
// cannot be decoded and could belong to the property. If the whole load failed, the failure concerns every property. Before the first load,
// Rejected returns false.
func (f *Folder) Rejected(_ context.Context, p library.PropertyID) ([]library.Rejection, bool, error) {
	r := f.rejected.Load()
	if r == nil {
		return nil, false, nil
	}
	var found []library.Rejection
	for _, one := range r.all {
		of, known := r.properties[validate.Ref{Kind: one.Kind, Namespace: one.Namespace, Name: one.Name}]
		if known && of == p || !known && (one.Namespace == "" || one.Namespace == p.Namespace()) {
			found = append(found, one)
		}
	}
	return found, true, nil
}
