package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/translate"
	"github.com/vitrine-dev/vitrine/server/query"
)

// selectors remembers which selectors of rules OpenSearch refuses. A search contains the selectors of many rules. If OpenSearch refused a
// search because of one of them, every read that needs the rules of the property would fail. A refused selector therefore matches no item,
// like a selector that exceeds a limit of the query language.
type selectors struct {
	mu sync.Mutex
	// tried contains the names of the rules whose selectors were tried.
	tried map[string]verdict
}

// verdict is the result of the last trial of a selector.
type verdict struct {
	refused bool
	at      time.Time
}

// trustFor is the time for which an accepted selector is not tried again. It limits the requests that a caller can cause whose own query
// OpenSearch refuses.
const trustFor = time.Minute

// rememberedSelectors is the maximum number of remembered selectors. Beyond it, all selectors are tried again.
const rememberedSelectors = 100_000

func (s *selectors) refused(r *definitions.Rule) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried[r.Name].refused
}

// forget discards all verdicts, because an index with another schema can accept other selectors.
func (s *selectors) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = nil
}

// untried returns the rules whose selectors were neither refused nor tried recently.
func (s *selectors) untried(rules []*definitions.Rule) []*definitions.Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*definitions.Rule
	for _, r := range rules {
		if v := s.tried[r.Name]; !v.refused && time.Since(v.at) > trustFor && r.Selector != nil {
			out = append(out, r)
		}
	}
	return out
}

func (s *selectors) keep(rules []*definitions.Rule, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried == nil || len(s.tried) > rememberedSelectors {
		s.tried = map[string]verdict{}
	}
	for _, r := range rules {
		s.tried[r.Name] = verdict{refused, time.Now()}
	}
}

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
