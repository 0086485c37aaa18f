package read

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Snapshot is one state of a property as readers see it: the segments, the catalogue, and the rules as bound to a time. All readers of
// the same state share the Snapshot while the rules are valid.
type Snapshot struct {
	State
	property *Property
	corpus   *search.Corpus
	// rules is the interval in which the bound rules are valid.
	rules interval

	// fields lists the fields to which a field pattern can expand.
	fields flight.Value[[]string]

	mu       sync.Mutex
	listings map[listingName]*listing
	slots    map[int]*slotTable
}

// dynamicFields lists the fields to which a field pattern can expand.
func (s *Snapshot) dynamicFields(ctx context.Context) ([]string, error) {
	return s.fields.Get(ctx, func() ([]string, error) { return s.corpus.DynamicFields(ctx) })
}

// plan returns the plan of a tree for a given time.
func (s *Snapshot) plan(ctx context.Context, n query.Node, a query.Audience, now time.Time) (plan.Node, error) {
	o, err := planOptions(ctx, n, a, s.dynamicFields)
	if err != nil {
		return nil, err
	}
	return planAt(n, o, now)
}

// find returns the live document of an item, or false if the item does not exist.
func (s *Snapshot) find(id item.ID) (search.Hit, bool) {
	for i, p := range s.corpus.Parts {
		if doc, ok := p.Find(id); ok {
			return search.Hit{Part: i, Doc: doc}, true
		}
	}
	return search.Hit{}, false
}

// ruleTags lists the tags that manifests add to a document, in the order of their rules.
func (s *Snapshot) ruleTags(ctx context.Context, h search.Hit) ([]item.Tag, error) {
	var tags []item.Tag
	for i, r := range s.Catalogue.TagRules {
		carries, err := s.corpus.Carries(ctx, i, s.corpus.Parts[h.Part], h.Doc)
		if err != nil {
			return nil, err
		}
		if carries {
			tags = append(tags, r.Tag)
		}
	}
	return tags, nil
}

// TagOwner returns the owner of the rule for a tag. It also reports whether the rule adds the tag to an item. See store.Index.
func (s *Snapshot) TagOwner(ctx context.Context, t item.Tag, id item.ID) (library.Owner, bool, error) {
	h, ok := s.find(id)
	if !ok {
		return library.Owner{}, false, nil
	}
	for i, r := range s.Catalogue.TagRules {
		if r.Tag != t {
			continue
		}
		carries, err := s.corpus.Carries(ctx, i, s.corpus.Parts[h.Part], h.Doc)
		if err != nil {
			return library.Owner{}, false, fmt.Errorf("evaluate the selector of %s: %w", r.Owner, err)
		}
		return r.Owner, carries, nil
	}
	return library.Owner{}, false, nil
}
