package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// member is a rule bound to a corpus. It finds the items to which the rule adds a tag or a unit.
type member struct {
	// keyword is the lower-cased key of the tag.
	keyword string
	// unit is the ID of the unit.
	unit     int64
	rule     *Rule
	selector node // nil if the rule has no selector
	key      string
}

// bindRule binds a rule. The selector sees only values up to the kind `reach`.
func (c *Corpus) bindRule(ctx context.Context, r *Rule, reach kind) (*member, error) {
	m := &member{rule: r, key: r.Name}
	if r.Selector == nil {
		return m, nil
	}
	selector, err := newBinder(c, reach).match(ctx, r.Selector)
	if err != nil {
		return nil, fmt.Errorf("bind the selector of %s: %w", r.Name, err)
	}
	m.selector = selector
	m.key += "#" + digest(selector.appendKey(nil))
	return m, nil
}

// digest returns a short hash of a key.
func digest(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:16])
}

// docs returns the documents of a part that the rule selects, including deleted ones. The bitmap is read-only.
func (m *member) docs(ctx context.Context, c *Corpus, p segment.Part) (*roaring.Bitmap, error) {
	v, err := c.view(ctx, p, "rule "+m.key, func() (*roaring.Bitmap, error) {
		var named []uint32
		for _, id := range m.rule.IDs {
			if doc, ok := p.Segment.Find(id); ok {
				named = append(named, doc)
			}
		}
		var sets []set
		if len(named) > 0 {
			sets = append(sets, owned(roaring.BitmapOf(named...)))
		}
		if m.selector != nil {
			e := &evaluation{corpus: c, part: p}
			defer e.release()
			selected, err := m.selector.find(ctx, e, nil)
			if err != nil {
				return nil, fmt.Errorf("select the items of %s: %w", m.rule.Name, err)
			}
			sets = append(sets, selected)
		}
		return or(sets).published(), nil
	})
	if err != nil {
		return nil, err
	}
	return v.docs, nil
}

// boundTags holds the tag rules by field. They are bound on first use.
type boundTags struct {
	mu      flight.Mutex
	byField map[string][]*member
}

// tagMembers returns the rules that add tags to a field, sorted by member.key. The corpus must have an overlay.
func (c *Corpus) tagMembers(ctx context.Context, field string) ([]*member, error) {
	tags := &c.bound().tags
	if err := tags.mu.Lock(ctx); err != nil {
		return nil, err
	}
	defer tags.mu.Unlock()
	if members, ok := tags.byField[field]; ok {
		return members, nil
	}
	var members []*member
	for i := range c.Overlay.Tags {
		r := &c.Overlay.Tags[i]
		if r.Tag.Key == "" || query.TagFieldName(r.Tag.Namespace) != field {
			continue
		}
		m, err := c.bindRule(ctx, &r.Rule, ofItem)
		if err != nil {
			return nil, err
		}
		m.keyword = analysis.Keyword(r.Tag.Key)
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b *member) int { return cmp.Compare(a.key, b.key) })
	if tags.byField == nil {
		tags.byField = map[string][]*member{}
	}
	tags.byField[field] = members
	return members, nil
}

// Carries reports whether the rule Overlay.Tags[rule] selects a document. It ignores the tags of the item itself.
func (c *Corpus) Carries(ctx context.Context, rule int, p segment.Part, doc uint32) (bool, error) {
	r := &c.Overlay.Tags[rule]
	members, err := c.tagMembers(ctx, query.TagFieldName(r.Tag.Namespace))
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
