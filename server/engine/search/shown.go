package search

import (
	"context"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// Carries reports whether the rule of Overlay.Tags[rule] puts its tag on a document, whether or not the item also has it of
// its own.
func (c *Corpus) Carries(ctx context.Context, rule int, p segment.Part, doc uint32) (bool, error) {
	r := &c.Overlay.Tags[rule]
	members, err := c.tagMembers(ctx, tagFieldName(r.Tag.Namespace))
	if err != nil {
		return false, fmt.Errorf("list the tags of an item: %w", err)
	}
	for _, m := range members {
		if m.rule != &r.Rule {
			continue
		}
		docs, err := m.docs(ctx, c, p)
		if err != nil {
			return false, fmt.Errorf("list the tags of an item: %w", err)
		}
		return docs.Contains(doc), nil
	}
	return false, nil
}

// UnitLists are the lists of units that the documents of one part show. There are few different ones, numbered from 0 on;
// list 0 is the empty one.
type UnitLists struct{ lists *unitLists }

// UnitLists returns those of a part, as Units shows them one by one; without an overlay of units there is the empty one
// alone.
func (c *Corpus) UnitLists(ctx context.Context, p segment.Part) (UnitLists, error) {
	if c.Overlay == nil || len(c.Overlay.Units) == 0 {
		return UnitLists{}, nil
	}
	o, err := c.unitOverlay(ctx)
	if err != nil {
		return UnitLists{}, fmt.Errorf("list the units of items: %w", err)
	}
	l, err := o.lists(ctx, c, p)
	if err != nil {
		return UnitLists{}, fmt.Errorf("list the units of items: %w", err)
	}
	return UnitLists{l}, nil
}

// Len is the number of lists, at least 1.
func (l UnitLists) Len() int {
	if l.lists == nil {
		return 1
	}
	return len(l.lists.units)
}

// List returns which list a document shows.
func (l UnitLists) List(doc uint32) int {
	if l.lists == nil {
		return 0
	}
	return int(l.lists.list(doc))
}

// Units returns the ids of a list in the order shown, read only.
func (l UnitLists) Units(list int) []int64 {
	if l.lists == nil {
		return nil
	}
	return l.lists.units[list]
}

// UnitsKey tells the units of the property, and what their rules say, from every other state of them; "" for none. While
// it stays, an item that stays shows the same units.
func (c *Corpus) UnitsKey(ctx context.Context) (string, error) {
	if c.Overlay == nil || len(c.Overlay.Units) == 0 {
		return "", nil
	}
	o, err := c.unitOverlay(ctx)
	if err != nil {
		return "", fmt.Errorf("tell the units apart: %w", err)
	}
	return o.key, nil
}
