package eval

import (
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Root returns one plan for the items that match all parts of a listing. build returns the plan of one part.
func Root(parts []library.Part, build func(library.Part) (plan.Node, error)) (plan.Node, error) {
	roots := make([]plan.Node, len(parts))
	for i, part := range parts {
		var err error
		if roots[i], err = build(part); err != nil {
			return nil, err
		}
		if part.Unscored {
			roots[i] = plan.Const{Node: roots[i]}
		}
	}
	if len(roots) == 1 {
		return roots[0], nil
	}
	return plan.Bool{Must: roots}, nil
}
