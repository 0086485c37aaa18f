package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
)

// unitOverlay holds the units of a corpus and the rules that attach them.
type unitOverlay struct {
	byID map[int64]*item.Unit
	// members holds the rules, sorted by unit.
	members   []*member
	byDefault *item.Unit
	// key identifies this state of the units and their rules.
	key string
}

// unitOverlay returns the units of the overlay. They are bound on first use.
func (c *Corpus) unitOverlay(ctx context.Context) (*unitOverlay, error) {
	return c.bound().units.Get(ctx, func() (*unitOverlay, error) { return c.bindUnits(ctx) })
}

func (c *Corpus) bindUnits(ctx context.Context) (*unitOverlay, error) {
	o := &unitOverlay{byID: map[int64]*item.Unit{}}
	if c.Overlay != nil {
		o.byDefault = c.Overlay.Default
		for i := range c.Overlay.Units {
			r := &c.Overlay.Units[i]
			o.byID[r.Unit.ID] = &r.Unit
			if r.Selector == nil && len(r.IDs) == 0 {
				continue
			}
			m, err := c.bindRule(ctx, &r.Rule, ofTags)
			if err != nil {
				return nil, err
			}
			m.unit = r.Unit.ID
			o.members = append(o.members, m)
		}
	}
	slices.SortStableFunc(o.members, func(a, b *member) int { return cmp.Compare(a.unit, b.unit) })
	o.key = o.describe()
	return o, nil
}

// shown returns the lists of units that the documents of a part show.
func (c *Corpus) shown(ctx context.Context, p segment.Part) (*unitLists, error) {
	o, err := c.unitOverlay(ctx)
	if err != nil {
		return nil, err
	}
	return o.lists(ctx, c, p)
}

// describe returns a hash of all units and rules for the field key.
func (o *unitOverlay) describe() string {
	ids := make([]int64, 0, len(o.byID))
	for id := range o.byID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var text []byte
	for _, id := range ids {
		text = appendUnit(text, o.byID[id])
	}
	for _, m := range o.members {
		text = strconv.AppendQuote(strconv.AppendInt(append(text, "rule "...), m.unit, 10), m.key)
	}
	if o.byDefault != nil {
		text = appendUnit(append(text, "default "...), o.byDefault)
	}
	return digest(text)
}

// appendUnit appends all values of a unit to text.
func appendUnit(text []byte, u *item.Unit) []byte {
	for _, n := range []int64{u.ID, u.ClickUnitLibrary, u.ActivateUnitLibrary} {
		text = append(strconv.AppendInt(text, n, 10), ' ')
	}
	for _, b := range []bool{u.Archived, u.Managed} {
		text = append(strconv.AppendBool(text, b), ' ')
	}
	for _, s := range []string{u.Name, u.ImageURL, u.ClickThroughURL, u.ExternalID, u.CreatedOn, u.LastModified, string(u.CatalogItem), string(u.CatalogImageURLSrc)} {
		text = append(strconv.AppendInt(text, int64(len(s)), 10), ':')
		text = append(text, s...)
	}
	return text
}

// Units returns the IDs of the units that a document shows, in order: first the item's own units that still exist, then the units that
// rules attach, by ID. The slice is read-only.
func (c *Corpus) Units(ctx context.Context, p segment.Part, doc uint32) ([]int64, error) {
	l, err := c.UnitLists(ctx, p)
	if err != nil {
		return nil, err
	}
	return l.Units(l.List(doc)), nil
}

// UnitsKey identifies the state of the property's units and their rules. It is empty if there are no units. An unchanged item shows the
// same units as long as the key is the same.
func (c *Corpus) UnitsKey(ctx context.Context) (string, error) {
	if c.Overlay == nil || len(c.Overlay.Units) == 0 {
		return "", nil
	}
	o, err := c.unitOverlay(ctx)
	if err != nil {
		return "", fmt.Errorf("bind the units: %w", err)
	}
	return o.key, nil
}
