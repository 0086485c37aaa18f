package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Corpus is a snapshot of a property: the documents that are searched and ranked together. Its fields must not change after first use. A
// Corpus is safe for concurrent use. It caches data derived from the Overlay, so use only one Corpus for each snapshot and Overlay.
type Corpus struct {
	// Parts holds the segments, in any order.
	Parts []segment.Part
	// Overlay holds the tags and units that manifests add to the items; nil if they add none
	Overlay *Overlay
	// Cache keeps views. If it is nil, no views are kept, and frequent terms have no plain bits. The statistics and lists of units of a
	// segment are always kept with the segment.
	Cache *Cache

	rules boundRules
}

// Overlay holds the tags and units that manifests add to the items. It is immutable.
type Overlay struct {
	Tags []TagRule
	// Units holds all units of the property.
	Units []UnitRule
	// Default is the property's default unit; nil if it has none.
	Default *item.Unit
	// Fixed is true if every selector depends only on the item itself. It is false if a selector depends on the current time, on the dynamic
	// fields of other items (for field patterns), or on the words of other items (for fuzzy matching). Fixed rules are bound once for all
	// corpora.
	Fixed bool

	rules boundRules
}

// boundRules holds the rules of an overlay. They are bound to a corpus on first use.
type boundRules struct {
	tags  boundTags
	units flight.Value[*unitOverlay]
}

// bound returns the bound rules of the overlay.
func (c *Corpus) bound() *boundRules {
	if c.Overlay != nil && c.Overlay.Fixed {
		return &c.Overlay.rules
	}
	return &c.rules
}

// TagRule adds a tag to items. Its selector must not use fields of tags or of units.
type TagRule struct {
	Tag item.Tag
	Rule
}

// UnitRule is a unit and the items to which a manifest attaches the unit. The Rule is zero if no manifest attaches it. The selector must
// not use fields of units.
type UnitRule struct {
	Unit item.Unit
	Rule
}

// Rule selects the items to which a manifest applies: the items in IDs and the items that match Selector.
type Rule struct {
	IDs []item.ID
	// Selector is the plan of a query at a certain time. It is nil if the rule has no query.
	Selector plan.Node
	// Name identifies the rule and its version in the property. It is never reused: rules with the same name have the same IDs.
	Name string
}

// of returns the data derived from a part's segment.
func (c *Corpus) of(p segment.Part) *derived { return c.Cache.of(p.Segment) }

// view returns the documents of a part that are cached under a key. If no view is cached under the key, view calls make and caches the
// result. ctx limits the wait for another caller that makes the same view.
func (c *Corpus) view(ctx context.Context, p segment.Part, key string, make func() (*roaring.Bitmap, error)) (*View, error) {
	return c.of(p).get(ctx, key, func() (*View, error) {
		docs, err := make()
		return &View{docs: docs}, err
	})
}

// bits is like view, for plain bits. The keys must differ from the keys of view.
func (c *Corpus) bits(ctx context.Context, p segment.Part, key string, make func() ([]uint64, error)) ([]uint64, error) {
	v, err := c.of(p).get(ctx, key, func() (*View, error) {
		bits, err := make()
		return &View{bits: bits}, err
	})
	if err != nil {
		return nil, err
	}
	return v.bits, nil
}

// DynamicFields returns the sorted canonical names of the dynamic fields (see query.Dynamic) in which a live document has a value. A
// field pattern in a query expands to these fields (plan.Options.Fields).
func (c *Corpus) DynamicFields(ctx context.Context) ([]string, error) {
	names := map[string]bool{}
	for _, p := range c.Parts {
		for _, name := range c.of(p).dynamicFields(p) {
			names[name] = true
		}
	}
	if c.Overlay != nil {
		for i := range c.Overlay.Tags {
			name := query.TagFieldName(c.Overlay.Tags[i].Tag.Namespace)
			if names[name] {
				continue
			}
			some, err := c.anyMember(ctx, name)
			if err != nil {
				return nil, fmt.Errorf("list the dynamic fields: %w", err)
			}
			if some {
				names[name] = true
			}
		}
	}
	list := make([]string, 0, len(names))
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list, nil
}

// anyMember reports whether a rule adds a tag of the field to a live document.
func (c *Corpus) anyMember(ctx context.Context, field string) (bool, error) {
	members, err := c.tagMembers(ctx, field)
	if err != nil {
		return false, err
	}
	for _, m := range members {
		for _, p := range c.Parts {
			docs, err := m.docs(ctx, c, p)
			if err != nil {
				return false, err
			}
			if p.LiveIn(docs) > 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// compareHits compares hits by score (the highest first), then by the tie rule.
func (c *Corpus) compareHits(a, b Hit) int {
	if byScore := cmp.Compare(b.Score, a.Score); byScore != 0 {
		return byScore
	}
	return c.compareDocs(a.Part, a.Doc, b.Part, b.Doc)
}

// compareDocs compares documents by the tie rule: the newest created_on first, then the highest ID.
func (c *Corpus) compareDocs(aPart int, a uint32, bPart int, b uint32) int {
	if aPart == bPart {
		return cmp.Compare(a, b)
	}
	s, t := c.Parts[aPart].Segment, c.Parts[bPart].Segment
	return item.CompareNewest(s.Created(a), s.ID(a), t.Created(b), t.ID(b))
}
