package validate

import (
	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/query"
)

// advise returns the finding for a warning about the query of o. The finding points to the field that the warning names, or to the query if
// the warning names no field.
func (j Judged) advise(o v1alpha1.Object, w query.Warning) Finding {
	member, _ := v1alpha1.QueryOf(o)
	f := j.finding(Warning, ruleAdvice+w.Code, member, w.Message)
	if w.Field == "" {
		return f
	}
	if place, ok := j.Character(member, w.Start); ok {
		f = at(place, f)
	}
	return f
}
