package counts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

const (
	// idsAtOnce is the maximum number of listed ids in one query. It keeps the query below the query language's limit on clauses.
	idsAtOnce = 500
	// missingFirst is the maximum number of missing ids that a status lists.
	missingFirst = 10
)

// Library holds the content.
type Library interface {
	library.Reader
	library.Status
}

// Look counts items for any number of objects. It records the earliest time at which one of these counts may change without a change of the
// content.
type Look struct {
	Library Library
	// Clock returns the time at which queries are evaluated.
	Clock func() time.Time

	changes time.Time // the earliest time that note has recorded; zero if counts change only with the content
}

// Func counts the items of one object. It updates the counts in the object's status, and reports whether a count changed enough to be
// written.
type Func func(ctx context.Context, l *Look, o v1alpha1.Object) (changed bool, err error)

// Property counts the items of a property.
func (l *Look) Property(ctx context.Context, p library.PropertyID) (int64, error) {
	s := l.Library.State(ctx)
	n, known := s.PropertyItems[p]
	if !known && !s.Ready { // the library cannot count now, so an unknown property may still have items
		return 0, fmt.Errorf("count the items of the property: %w: %s", library.ErrUnavailable, s.Problem)
	}
	return n, nil
}

// Filter counts the items that a stored filter matches.
func (l *Look) Filter(ctx context.Context, p library.PropertyID, id int64) (int64, error) {
	n, err := l.read(ctx, library.Read{Property: p, Filter: &library.FilterRef{ID: id}})
	if err != nil {
		return 0, fmt.Errorf("count the items of the filter: %w", err)
	}
	return n, nil
}

func (l *Look) read(ctx context.Context, r library.Read) (int64, error) {
	r.Audience, r.Now = query.Private, l.Clock()
	page, err := l.Library.Read(ctx, r)
	if err != nil {
		return 0, err
	}
	l.note(page.Expires)
	return page.Total, nil
}

// note records a time at which a count may change without a change of the content.
func (l *Look) note(expires time.Time) {
	if !expires.IsZero() && (l.changes.IsZero() || expires.Before(l.changes)) {
		l.changes = expires
	}
}

// due reports whether a count may have changed without a change of the content.
func (l *Look) due(now time.Time) bool { return !l.changes.IsZero() && !now.Before(l.changes) }

// Rule counts the items that a rule selects, by id or with a selector. It also describes the listed ids that no item has, or returns nil if
// there are none.
func (l *Look) Rule(
	ctx context.Context, p library.PropertyID, ids []item.ID, kind library.Kind, selector *v1alpha1.Selector,
) (int64, *v1alpha1.MissingItems, error) {
	var rule query.Node
	var total int64
	if selector != nil {
		node, _, err := library.ParseSelector(kind, selector.Query)
		if err != nil {
			return 0, nil, err
		}
		if total, err = l.total(ctx, p, node); err != nil {
			return 0, nil, err
		}
		rule = node
	}
	var lost v1alpha1.MissingItems
	for chunk := range slices.Chunk(ids, idsAtOnce) {
		listed := anyID(chunk)
		there, err := l.total(ctx, p, listed)
		if err != nil {
			return 0, nil, err
		}
		if gone := int64(len(chunk)) - there; gone > 0 {
			lost.Count += gone
			if err := l.nameMissing(ctx, p, chunk, &lost); err != nil {
				return 0, nil, err
			}
		}
		if rule != nil {
			both, err := l.total(ctx, p, query.And(listed, rule))
			if err != nil {
				return 0, nil, err
			}
			there -= both
		}
		total += there
	}
	if lost.Count == 0 {
		return total, nil, nil
	}
	return total, &lost, nil
}

// nameMissing adds the missing ids of chunk to lost.First, up to missingFirst.
func (l *Look) nameMissing(ctx context.Context, p library.PropertyID, chunk []item.ID, lost *v1alpha1.MissingItems) error {
	for _, id := range chunk {
		if len(lost.First) == missingFirst {
			return nil
		}
		n, err := l.total(ctx, p, anyID([]item.ID{id}))
		if err != nil {
			return err
		}
		if n == 0 {
			lost.First = append(lost.First, id)
		}
	}
	return nil
}

func anyID(ids []item.ID) query.Node {
	clauses := make([]query.Clause, len(ids))
	for i, id := range ids {
		clauses[i].Node = query.FieldTerm("id", strconv.FormatInt(id, 10))
	}
	return query.Bool{Clauses: clauses}
}

func (l *Look) total(ctx context.Context, p library.PropertyID, q query.Node) (int64, error) {
	n, err := l.read(ctx, library.Read{Property: p, Query: q})
	if err != nil {
		return 0, fmt.Errorf("count the items of a rule: %w", err)
	}
	return n, nil
}

// Set replaces the shown count with n and returns true if the difference is worth a write. It is if there is no shown count, if exactly one
// of the two counts is 0, or if the counts differ by at least a tenth of the shown count.
func Set(shown **int64, n int64) bool {
	if *shown != nil {
		was := **shown
		if was == n || (was != 0 && n != 0 && max(n-was, was-n)*10 < was) {
			return false
		}
	}
	*shown = &n
	return true
}

// SetMissing replaces status.missing and returns true if the first item goes missing, if no item is missing any longer, or if the count
// changes as much as Set requires.
func SetMissing(shown **v1alpha1.MissingItems, lost *v1alpha1.MissingItems) bool {
	if *shown != nil && lost != nil {
		count := &(*shown).Count
		if !Set(&count, lost.Count) {
			return false
		}
	} else if *shown == nil && lost == nil {
		return false
	}
	*shown = lost
	return true
}
