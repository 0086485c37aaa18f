package dev

import (
	"context"
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/internal/cli/validate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// loaded contains the objects and the errors of a load.
type loaded struct {
	rejected []library.Rejection
	// objects contains each object that can be decoded.
	objects map[validate.Ref]validate.Judged
}

// remember stores the result of a load for Rejected and Manifest.
func (f *Folder) remember(l Load, judged []validate.Judged) {
	r := &loaded{objects: map[validate.Ref]validate.Judged{}}
	for _, j := range judged {
		if _, twice := r.objects[j.Ref()]; j.Typed != nil && !twice {
			r.objects[j.Ref()] = j
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
		r.rejected = append(r.rejected, one)
	}
	f.last.Store(r)
}

// rejectAll stores the reason why a whole load failed, instead of the result of an earlier load.
func (f *Folder) rejectAll(err error) {
	f.last.Store(&loaded{rejected: []library.Rejection{
		{Kind: "File", Name: strings.Join(f.o.Paths, ", "), Reason: "LoadFailed", Message: err.Error()},
	}})
}

// Rejected returns the errors of the last load that concern a property: the errors of its objects, and the errors of files and objects that
// cannot be decoded and could belong to the property. If the whole load failed, the failure concerns every property. Before the first load,
// Rejected returns false.
func (f *Folder) Rejected(_ context.Context, p library.PropertyID) ([]library.Rejection, bool, error) {
	r := f.last.Load()
	if r == nil {
		return nil, false, nil
	}
	var found []library.Rejection
	for _, one := range r.rejected {
		of, known := r.objects[validate.Ref{Kind: one.Kind, Namespace: one.Namespace, Name: one.Name}]
		if known && translate.PropertyID(of.Typed) == p || !known && (one.Namespace == "" || one.Namespace == p.Namespace()) {
			found = append(found, one)
		}
	}
	return found, true, nil
}

// Manifest returns the object of a property that declares a definition, as the last load has read it. The error wraps library.ErrNotFound
// if there is no such object, and library.ErrUnavailable if the last load failed.
func (f *Folder) Manifest(_ context.Context, p library.PropertyID, owner library.Owner) (library.Manifest, error) {
	r := f.last.Load()
	if r == nil || r.objects == nil {
		return library.Manifest{}, fmt.Errorf("%w: the manifests are not loaded", library.ErrUnavailable)
	}
	o, ok := r.objects[validate.Ref{Kind: owner.Kind.String(), Namespace: owner.Namespace, Name: owner.Name}]
	if !ok || translate.PropertyID(o.Typed) != p {
		return library.Manifest{}, fmt.Errorf("%w: no file declares the %s", library.ErrNotFound, owner)
	}
	return translate.Manifest(o.Unstructured)
}
