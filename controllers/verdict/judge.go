package verdict

import (
	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Judgement is what a spec says by itself, without a cluster and without a store.
type Judgement struct {
	// Definition is what the library would be given. That of an AccessToken has no values: they come from Secrets.
	Definition library.Definition
	// Warnings are about the query or the selector.
	Warnings []query.Warning
}

// Judge judges an object as its reconciler does, as far as that depends on the object alone. The error is a *Refusal, unless the
// object is of none of the kinds.
func Judge(o v1alpha1.Object) (Judgement, error) {
	var j Judgement
	var err error
	if j.Definition, j.Warnings, err = translate.Object("", o); err == nil {
		err = library.Check(j.Definition)
	}
	return j, Refuse(o, err)
}
