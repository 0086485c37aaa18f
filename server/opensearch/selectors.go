package opensearch

import (
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
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
