package library

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Listing describes what a Read lists, after the request has been combined with its stored filter. All implementations of Library create it
// with NewListing, so that they follow the same rules.
type Listing struct {
	// Parts are combined with AND. Each part is a separate query tree, so that no text in a caller's query can change the meaning of a stored
	// query. The caller's query is evaluated with the rights of the caller, and the stored query with the rights of its author.
	Parts []Part
	// Order is never nil.
	Order query.Order
	// Favourite, if set, is the tag whose items come first (see FavouriteTerm). The items with the tag are in Order, and so are the others.
	Favourite *item.Tag
	// Seed is "" unless the order is random.
	Seed string
	// Identity identifies the listing in cursors. Two listings have different identities if they order items differently, or if they must not
	// share cursors. Identity contains the UUID of a stored filter, not its query, so cursors stay valid when the query changes.
	Identity string
}

// Part is one query of a Listing, and the audience with whose rights it is evaluated.
type Part struct {
	Query    query.Node
	Audience query.Audience
	// Unscored is true if the query only selects items, and adds nothing to their scores.
	Unscored bool
}

// byScore is the default order of a query. It is read-only.
var byScore = query.Order{{Field: query.ScoreKey, Desc: true}}

// NewListing combines r with the stored filter f, whose UUID is uuid. f is nil if r.Filter is nil. NewListing fails with
// *query.ForbiddenFieldError or *query.SyntaxError if r.Query, r.Where or r.Order is at fault.
func NewListing(r Read, f *ParsedFilter, uuid string) (Listing, error) {
	var l Listing
	identity := make([]byte, 0, 512)
	identify := func(parts ...string) {
		for _, p := range parts {
			if len(identity) > 0 {
				identity = append(identity, 0)
			}
			identity = append(identity, p...)
		}
	}
	switch {
	case f != nil:
		l.Parts = append(l.Parts, Part{Query: f.Query, Audience: query.Private})
		l.Order, l.Favourite = f.Order, f.Favourite
		identify("filter", uuid)
	case r.Query != nil:
		l.Parts = append(l.Parts, Part{Query: r.Query, Audience: r.Audience})
		l.Order = byScore
		identify("query", r.Query.String())
	default:
		l.Parts = append(l.Parts, Part{Query: query.None{}, Audience: r.Audience})
		l.Order = byScore
		identify("nothing")
	}
	if r.Where != nil {
		l.Parts = append(l.Parts, Part{Query: r.Where, Audience: r.Audience})
		identify("where", r.Where.String())
	}
	if r.Scope != nil {
		l.Parts = append(l.Parts, r.Scope.Part())
		identify("scope", r.Scope.text)
	}
	if r.Order != nil {
		l.Order = r.Order
	}
	if r.Favourite != nil {
		l.Favourite = r.Favourite
	}
	for _, p := range l.Parts {
		if _, err := query.Check(p.Query, p.Audience); err != nil {
			return Listing{}, err
		}
	}
	if err := query.CheckOrder(r.Order, r.Audience); err != nil {
		return Listing{}, err
	}
	if l.Order.Random() {
		l.Seed = r.Seed
	}
	for _, key := range l.Order {
		identify(key.Field)
		identity = strconv.AppendBool(append(identity, ' '), key.Desc)
	}
	if l.Favourite != nil {
		identify("favourite", l.Favourite.Namespace, l.Favourite.Key)
	}
	identify("seed", l.Seed, string(r.Property))
	sum := sha256.Sum256(identity)
	l.Identity = hex.EncodeToString(sum[:12])
	return l, nil
}

// ItemTerm returns the query that matches the item with an id.
func ItemTerm(id item.ID) query.Node { return query.FieldTerm("id", strconv.FormatInt(id, 10)) }

// ItemTerms returns the query that matches the items with one of the ids. Each id counts towards query.MaxClauses.
func ItemTerms(ids []item.ID) query.Node {
	oneOf := query.Bool{Clauses: make([]query.Clause, len(ids))}
	for i, id := range ids {
		oneOf.Clauses[i] = query.Clause{Occur: query.Should, Node: ItemTerm(id)}
	}
	return oneOf
}

// FavouriteTerm returns the query that matches items with the tag. A listing with a favorite tag consists of two disjoint listings: first
// the items that match this query, then the others. The query contributes nothing to scores.
func FavouriteTerm(t item.Tag) query.Node {
	return query.FieldTerm(query.TagFieldName(t.Namespace), t.Key)
}
