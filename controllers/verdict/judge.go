package verdict

import (
	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Judgement is the meaning of a spec. It does not depend on any cluster or store.
type Judgement struct {
	// Definition is the definition that the library would receive. For an AccessToken, it has no values, because the values come from
	// Secrets.
	Definition library.Definition
	// Warnings concern the query or the selector.
	Warnings []query.Warning
}

// Judge checks an object as its reconciler does, as far as the result depends only on the object. The error is a *Refusal, unless o is of
// an unknown kind.
func Judge(o v1alpha1.Object) (Judgement, error) {
	var j Judgement
	var err error
	if j.Definition, j.Warnings, err = translate.Object("", o); err == nil {
		err = library.Check(j.Definition)
	}
	return j, Refuse(o, err)
}
