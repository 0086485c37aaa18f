package library

import (
	"fmt"
	"slices"

	"github.com/vitrine-dev/vitrine/server/query"
)

// TokenScope is the query of a token. For a caller with the token, an item that does not match the query does not exist. A nil TokenScope
// matches every item.
type TokenScope struct {
	root query.Node
	text string
}

// ParseTokenScope returns the scope of the items that match all queries, which may use private fields. It ignores empty queries, and returns
// nil if all are empty. The error wraps a *query.SyntaxError.
func ParseTokenScope(queries ...string) (*TokenScope, error) {
	var root query.Node
	for _, text := range queries {
		if text == "" {
			continue
		}
		q, err := query.ParseFor(text, query.Private)
		if err != nil {
			return nil, fmt.Errorf("query: %w", err)
		}
		root = query.And(root, q.Root)
	}
	if root == nil {
		return nil, nil
	}
	return &TokenScope{root, root.String()}, nil
}

// String returns the query in canonical form, or "" for a nil TokenScope. Two scopes with the same text match the same items.
func (s *TokenScope) String() string {
	if s == nil {
		return ""
	}
	return s.text
}

// Part returns the scope as a part of a listing. s must not be nil.
func (s *TokenScope) Part() Part { return Part{Query: s.root, Audience: query.Private, Unscored: true} }

// Narrow returns the query that matches what both n and the scope match. n may be nil, which matches every item. Narrow returns nil only if
// both are nil. The scope takes part in the score, so Narrow is for reads without one. Read.Scope adds nothing to scores.
func (s *TokenScope) Narrow(n query.Node) query.Node {
	if s == nil {
		return n
	}
	return query.And(n, s.root)
}

// Action is a group of operations that a READ-WRITE token may be limited to.
type Action string

// The actions.
const (
	// AddItems adds items.
	AddItems Action = "AddItems"
	// Moderate changes members of items, such as the approval status, the campaign, the units and the text.
	Moderate Action = "Moderate"
	// TagItems adds tags to items and removes them. Its name in manifests is Tag.
	TagItems Action = "Tag"
	// ManageFilters creates, changes and deletes filters over HTTP.
	ManageFilters Action = "ManageFilters"
	// ReadPrivate reads and queries private fields, and shows stored queries that use them.
	ReadPrivate Action = "ReadPrivate"
	// Export reads all items as lines. It also needs ReadPrivate, because a line holds the private fields.
	Export Action = "Export"
	// Import stores items from lines.
	Import Action = "Import"
	// Erase deletes items.
	Erase Action = "Erase"
)

// Actions returns all actions, in the order of the documentation.
func Actions() []Action {
	return []Action{AddItems, Moderate, TagItems, ManageFilters, ReadPrivate, Export, Import, Erase}
}

// ScopeQueries returns the queries of the token's scope, each "" if there is none: its own query and, for a READ-ONLY token without one or in
// another namespace than the Property, that of its property. The owner of the Property decides what other namespaces see.
func (t *Token) ScopeQueries(readOnlyQuery string) [2]string {
	if t.ReadWrite || t.Query != "" && !t.Guest {
		return [2]string{t.Query}
	}
	return [2]string{t.Query, readOnlyQuery}
}

// LimitedBy returns what limits the items that the token reads, as in the status of an AccessToken: Filters (and its query, if it has one),
// Query (its own), Property (the query of its property, which is readOnlyQuery), or AllItems (nothing).
func (t *Token) LimitedBy(readOnlyQuery string) string {
	switch {
	case t.Filters != nil:
		return "Filters"
	case t.Query != "":
		return "Query"
	case t.ScopeQueries(readOnlyQuery)[1] != "":
		return "Property"
	}
	return "AllItems"
}

// Allows reports whether the token permits an action. A READ-ONLY token permits none.
func (t *Token) Allows(a Action) bool {
	return t.ReadWrite && (t.Allow == nil || slices.Contains(t.Allow, a))
}
