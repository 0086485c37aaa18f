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

// queries returns the queries of the token's scope (see library.Token.ScopeQueries).
func (g grant) queries(settings library.Property) [2]string {
	return g.rights.ScopeQueries(g.propertyQuery(settings))
}

// propertyQuery returns the query of the property for READ-ONLY tokens.
//
// settings can be newer than g. If the property has lost its query meanwhile, its earlier query stays in effect until the token is as new:
// the same change can have given the token a query of its own.
func (g grant) propertyQuery(settings library.Property) string {
	return cmp.Or(settings.ReadOnlyQuery, g.readOnlyQuery)
}

// scopeText returns the query of the token's scope as its author wrote it or, if the scope has two queries, in canonical form. It returns ""
// if the token has no scope.
func (s *scopes) scopeText(g grant, settings library.Property) string {
	queries := g.queries(settings)
	if queries[0] == "" || queries[1] == "" {
		return queries[0] + queries[1]
	}
	scope, _ := s.of(g, settings) // the server refuses a token whose query it cannot parse
	return scope.String()
}

// of returns the scope of a token, or nil if it has none. It fails if this version of the server cannot parse the query, because without it
// the token would read more than it may.
func (s *scopes) of(g grant, settings library.Property) (*library.TokenScope, error) {
	queries := g.queries(settings)
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
