package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/translate"
	"github.com/vitrine-dev/vitrine/server/query"
)

// withoutRefused runs a read with v. If OpenSearch refuses a search of the read, withoutRefused tries the selectors that the search may
// contain. If OpenSearch refuses a selector, withoutRefused runs the read again, with a new view.
func withoutRefused[T any](ctx context.Context, v *view, read func(*view) (T, error)) (T, error) {
	out, err := read(v)
	if !isRefusal(err) {
		return out, err
	}
	v = newView(v.conn, v.catalogue, v.now)
	found := false
	for _, rules := range []struct {
		of    []*definitions.Rule
		reach schema.Kind
	}{{v.catalogue.TagRules, schema.OfItem}, {v.catalogue.UnitRules, schema.OfTags}} { // the selector of a unit can depend on tags
		some, failed := v.try(ctx, v.selectors.untried(rules.of), rules.reach)
		if failed != nil {
			return out, failed
		}
		found = found || some
	}
	if found {
		return read(newView(v.conn, v.catalogue, v.now))
	}
	return out, err
}

// isRefusal reports whether err means that OpenSearch refuses a request because of its content.
func isRefusal(err error) bool {
	var answer *cluster.ResponseError
	var limit *query.SyntaxError // see view.search
	return errors.As(err, &answer) && answer.Status == http.StatusBadRequest && !answer.Foreign || errors.As(err, &limit) && limit.Limit
}

// try tries the selectors of rules, and reports whether OpenSearch refuses any of them.
func (v *view) try(ctx context.Context, rules []*definitions.Rule, reach schema.Kind) (refused bool, err error) {
	if len(rules) == 0 {
		return false, nil
	}
	var queries []object
	for _, r := range rules {
		q, err := v.queries.Rule(ctx, r, reach)
		if err != nil {
			return false, err
		}
		queries = append(queries, q)
	}
	err = v.search(ctx, object{"size": 0, "track_total_hits": false, "query": translate.AllOf(translate.AnyOf(queries))}, &cluster.HitsOf[struct{}]{})
	switch {
	case err == nil:
		v.selectors.keep(rules, false)
		return false, nil
	case !isRefusal(err):
		return false, fmt.Errorf("try the selectors of rules: %w", err)
	case len(rules) == 1:
		v.selectors.keep(rules, true)
		v.warn(rules[0], err)
		return true, nil
	}
	for _, half := range [][]*definitions.Rule{rules[:len(rules)/2], rules[len(rules)/2:]} {
		some, err := v.try(ctx, half, reach)
		if err != nil {
			return refused, err
		}
		refused = refused || some
	}
	return refused, nil
}
