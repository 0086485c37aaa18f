package reference

import (
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/library"
)

// position is where an item stands in a listing.
type position struct {
	// Rest is false for favourites, which come first.
	Rest bool `json:"r,omitempty"`
	// Place is what the item is sorted by within its group.
	Place eval.Place `json:"p"`
}

// ranker puts the items of one listing in order.
type ranker struct {
	sorter    *eval.Sorter
	favourite bool // whether the listing has favourites at all
}

func newRanker(l library.Listing) (*ranker, error) {
	sorter, err := eval.NewSorter(l.Order, func(id int64) int64 { return library.RandomPlace(l.Seed, id) })
	if err != nil {
		return nil, err
	}
	return &ranker{sorter: sorter, favourite: l.Favourite != nil}, nil
}

func (r *ranker) position(h eval.Hit, favourite bool) position {
	return position{Rest: r.favourite && !favourite, Place: r.sorter.Place(h)}
}

// compare orders two positions: favourites, then the order with its tie rule.
func (r *ranker) compare(a, b position) int {
	switch {
	case a.Rest == b.Rest:
		return r.sorter.Compare(a.Place, b.Place)
	case b.Rest:
		return -1
	}
	return 1
}
