package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/flight"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Corpus is the documents that are ranked together: one snapshot of a property. It is immutable once it is used, and safe for
// concurrent use. It caches what it derives from the Overlay, so keep one for each snapshot and Overlay.
type Corpus struct {
	// Parts are the segments, in any order.
	Parts []segment.Part
	// Overlay is what manifests add to the items; nil for nothing.
	Overlay *Overlay
	// Cache keeps views; nil keeps none, and disables plain bits of frequent terms. The statistics and lists of units of a segment
	// are kept with the segment in any case.
	Cache *Cache

	rules boundRules
}

// Overlay is what manifests add to the items. It is immutable.
type Overlay struct {
	Tags []TagRule
	// Units are all units of the property.
	Units []UnitRule
	// Default is the property's default unit, nil for none.
	Default *item.Unit
	// Fixed is true if every selector depends on nothing but the item: not on the time, on the fields that items have, or on similar
	// words of other items. The rules are then bound once for all corpora.
	Fixed bool

	rules boundRules
}

// boundRules are the rules of an overlay, bound on first use.
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

// TagRule puts a tag on items. Its selector may name neither tags nor units.
type TagRule struct {
	Tag item.Tag
	Rule
}

// UnitRule is a unit and the items to which a manifest attaches it; the Rule is zero for a unit without one. Its selector may not
// name units.
type UnitRule struct {
	Unit item.Unit
	Rule
}

// Rule selects the items of a manifest: those in IDs, and those that Selector matches.
type Rule struct {
	IDs []item.ID
	// Selector is bound to a time; nil for none.
	Selector plan.Node
	// Name identifies the rule and its version in the property permanently: rules of one name have the same IDs.
	Name string
}

// of returns the data derived from a part's segment.
func (c *Corpus) of(p segment.Part) *derived { return c.Cache.of(p.Segment) }

// view returns the documents of a part under a key, or makes and keeps them. ctx ends the wait for another caller that makes them.
func (c *Corpus) view(ctx context.Context, p segment.Part, key string, make func() (*roaring.Bitmap, error)) (*View, error) {
	return c.of(p).get(ctx, key, func() (*View, error) {
		docs, err := make()
		return &View{docs: docs}, err
	})
}

// bits is view for plain bits and for outlines. Its keys must differ from those of view.
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

// DynamicFields lists the canonical names of the dynamic fields (see query.Dynamic) in which a live document has a value, sorted. A
// field pattern expands to these (plan.Options.Fields).
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

// anyMember reports whether a rule puts a tag of the field on a live document.
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
