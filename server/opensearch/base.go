package opensearch

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/facts"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// base is the state of a property before a write, limited to what the mutations of the write need.
type base struct {
	*view
	set  definitions.Set
	tags *facts.Tags
	// target is the generation of the items' index to which the write applies.
	target *indices.Index
	ctx    context.Context //nolint:containedctx // of one write: the methods of mutations.Base have no context
	ledger *facts.Ledger
	// stored holds the documents of the requested items, including tombstones.
	stored map[item.ID]*indices.Stored
	// codes contains the short codes of the mutations. The value is true if the code is a random code of a new item.
	codes map[string]bool
	// holders contains the items that have these codes.
	holders codeHolders
}

var _ mutations.Base = (*base)(nil)

// fetch looks up all items and short codes that the mutations name, concurrently.
func (b *base) fetch(ctx context.Context, pending []pendingMutation) error {
	var ids []item.ID
	b.codes = map[string]bool{}
	seen := map[item.ID]bool{}
	want := func(id item.ID) {
		if item.ValidID(id) && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for _, m := range pending {
		switch {
		case m.Put != nil:
			want(m.Put.ID)
			if code := m.Put.ShortCode; code != "" {
				b.codes[code] = m.Put.ID == 0 && len(code) == randomCodeLength
			}
		case m.Tag != nil || m.Untag != nil:
			for _, id := range m.IDs {
				want(id)
			}
		default:
			want(m.ID)
		}
	}
	ctx, cancel := cluster.Limited(ctx, cluster.WriteAttempt)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		b.stored, err = b.indices.LoadAll(ctx, b.target.Writes(), ids, schema.FieldItem, schema.FieldHistory, schema.FieldChanged, schema.FieldPublic)
		return err
	})
	g.Go(func() (err error) {
		b.holders, err = b.codeHolders(ctx, b.set, slices.Collect(maps.Keys(b.codes)))
		return err
	})
	return g.Wait()
}

// current returns the document of an item, or nil if the item does not exist.
func (b *base) current(id item.ID) *indices.Stored {
	if s := b.stored[id]; s != nil && !s.Gone() {
		return s
	}
	return nil
}

// Item returns a stored item, or nil.
func (b *base) Item(id item.ID) (*item.Item, error) {
	if s := b.current(id); s != nil {
		return s.Item()
	}
	return nil, nil
}

// Exists reports whether an item is stored.
func (b *base) Exists(id item.ID) (bool, error) { return b.current(id) != nil, nil }

// Unit reports whether the property serves a unit.
func (b *base) Unit(id int64) bool { return b.catalogue.Unit(id) != nil }

// randomCodeLength is the length of a code that item.NewShortCode returns.
const randomCodeLength = 10

// CodeHeld reports whether an item other than id has the short code. Two concurrent writes can give the same code to two items. The link
// then leads to the item that comes first by property and id. While some items cannot be searched, CodeHeld reports a random code of a new
// item as held, so that the item gets another code, and fails for any other code in the mutations. Codes that the write itself generates
// are not looked up, because they are random.
func (b *base) CodeHeld(code string, id item.ID) (bool, error) {
	for _, h := range b.holders.of[code] {
		if h != (holder{b.catalogue.Property, id}) {
			return true, nil
		}
	}
	random, given := b.codes[code]
	if b.holders.incomplete == nil || !given {
		return false, nil
	}
	if random {
		return true, nil
	}
	return false, b.holders.incomplete
}

// TagMade reports whether this replica knows that a tag exists.
func (b *base) TagMade(t item.Tag) bool { return b.tags.Knows(b.catalogue.Property, t) }

// NameKnown reports whether an item has ever had a field whose name has the hash n.
func (b *base) NameKnown(n mutations.NameSum) bool { return b.ledger.Names[n] }

// Names returns the number of different field names that items have ever had.
func (b *base) Names() int { return len(b.ledger.Names) }

// Namespaces returns the number of namespaces of tags that items have ever had themselves.
func (b *base) Namespaces() int { return len(b.ledger.Namespaces) }

// TagOwner returns the owner of a rule that assigns the tag to an item.
func (b *base) TagOwner(t item.Tag, id item.ID) (library.Owner, bool, error) {
	it, err := b.Item(id)
	if err != nil || it == nil {
		return library.Owner{}, false, err
	}
	for _, r := range b.catalogue.TagRules {
		if r.Tag != t {
			continue
		}
		if r.Names(id) {
			return r.Owner, true, nil
		}
		members, err := b.members(b.ctx, r, corpusOf([]*item.Item{it}, [][]item.Tag{it.Tags}))
		if err != nil || members[id] {
			return r.Owner, err == nil, err
		}
	}
	return library.Owner{}, false, nil
}

// pendingMutation is a mutation that is not decided yet, and the index of the mutation's outcome.
type pendingMutation struct {
	at int
	library.Mutation
}

// ids returns the ids of the items that a mutation changes. own is the id in the mutation's outcome.
func (m pendingMutation) ids(own item.ID) []item.ID {
	if m.Tag != nil || m.Untag != nil {
		return m.IDs
	}
	return []item.ID{own}
}
