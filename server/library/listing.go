package library

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Listing is what a Read lists once the request and its stored filter have been put together: the rules that every
// implementation shares.
type Listing struct {
	// Parts are ANDed, each a tree of its own: what a caller sends cannot break out of a stored query, and is read with
	// the caller's rights while the stored query is read with its author's.
	Parts []Part
	// Order is never nil.
	Order query.Order
	// Favourite, when set: items that match FavouriteTerm come first, each group in Order.
	Favourite *item.Tag
	// Seed is "" unless the order is random.
	Seed string
	// Identity differs between any two listings that order items differently or that a cursor of one must not be used on
	// for the other. A stored filter is named by its UUID: changing its query does not end its cursors.
	Identity string
}

// Part is one tree of a Listing and the audience whose rights it is read with.
type Part struct {
	Query    query.Node
	Audience query.Audience
}

// NewListing puts r together with the filter that it names; f is nil where r.Filter is, and uuid the filter's. The error
// is *query.ForbiddenFieldError or *query.SyntaxError, for r's own trees and order.
func NewListing(r Read, f *ParsedFilter, uuid string) (Listing, error) {
	var l Listing
	var identity []string
	switch {
	case f != nil:
		l.Parts = append(l.Parts, Part{Query: f.Query, Audience: query.Private})
		l.Order, l.Favourite = f.Order, f.Favourite
		identity = append(identity, "filter", uuid)
	case r.Query != nil:
		l.Parts = append(l.Parts, Part{Query: r.Query, Audience: r.Audience})
		l.Order = query.Order{{Field: query.ScoreKey, Desc: true}}
		identity = append(identity, "query", r.Query.String())
	default:
		l.Parts = append(l.Parts, Part{Query: query.None{}, Audience: r.Audience})
		l.Order = query.Order{{Field: query.ScoreKey, Desc: true}}
		identity = append(identity, "nothing")
	}
	if r.Where != nil {
		l.Parts = append(l.Parts, Part{Query: r.Where, Audience: r.Audience})
		identity = append(identity, "where", r.Where.String())
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
		identity = append(identity, fmt.Sprintf("%s %t", key.Field, key.Desc))
	}
	if l.Favourite != nil {
		identity = append(identity, "favourite", l.Favourite.Namespace, l.Favourite.Key)
	}
	identity = append(identity, "seed", l.Seed, string(r.Property))
	sum := sha256.Sum256([]byte(strings.Join(identity, "\x00")))
	l.Identity = hex.EncodeToString(sum[:12])
	return l, nil
}

// FavouriteTerm is the tree that an item matches when it carries the tag. A listing with a favourite is two disjoint
// listings, one ANDed with this tree and, after it, one ANDed with its negation; the tree adds nothing to relevance.
func FavouriteTerm(t item.Tag) query.Node {
	return query.FieldTerm(query.TagFieldName(t.Namespace), t.Key)
}
