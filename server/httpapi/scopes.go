package httpapi

import (
	"cmp"
	"sync"

	"github.com/vitrine-dev/vitrine/server/library"
)

// maxScopes is the maximum number of parsed queries that scopes keeps.
const maxScopes = 10_000

// scopes keeps the parsed queries of tokens and properties. The zero value is empty and ready to use.
type scopes struct {
	mu     sync.RWMutex
	parsed map[[2]string]*library.TokenScope
}

// of returns the scope of a token, or nil if it has none. It fails if this version of the server cannot parse the query, because without it
// the token would read more than it may.
//
// settings can be newer than g. If the property has lost its query meanwhile, its earlier query stays in effect until the token is as new:
// the same change can have given the token a query of its own.
func (s *scopes) of(g grant, settings library.Property) (*library.TokenScope, error) {
	queries := g.rights.ScopeQueries(cmp.Or(settings.ReadOnlyQuery, g.readOnlyQuery))
	if queries == [2]string{} {
		return nil, nil
	}
	s.mu.RLock()
	known, ok := s.parsed[queries]
	s.mu.RUnlock()
	if ok {
		return known, nil
	}
	parsed, err := library.ParseTokenScope(queries[:]...)
	if err != nil {
		return nil, library.Unreadable("the query of "+g.owner.String(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parsed == nil || len(s.parsed) >= maxScopes {
		s.parsed = map[[2]string]*library.TokenScope{}
	}
	s.parsed[queries] = parsed
	return parsed, nil
}
