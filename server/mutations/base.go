package mutations

import (
	"bytes"
	"io"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Base provides the state of a property before the mutations of a Stage. If a method of Base fails, the Stage returns the error in the
// outcome of the mutation.
type Base interface {
	// Item returns a stored item, or nil if it does not exist.
	Item(id item.ID) (*item.Item, error)
	// Exists reports whether an item is stored.
	Exists(id item.ID) (bool, error)
	// Unit reports whether the property serves a conversion unit.
	Unit(id int64) bool
	// CodeHeld reports whether an item other than id has the short code, in any property.
	CodeHeld(code string, id item.ID) (bool, error)
	// TagMade returns true only if the tag exists. It may return false for a tag that exists, which the Stage then stages again.
	TagMade(t item.Tag) bool
	// NameKnown reports whether any item of the property has ever had a field with this name. Names returns the number of such names.
	NameKnown(n NameSum) bool
	Names() int
	// Namespaces returns the number of namespaces of tags that items of the property have ever had themselves.
	Namespaces() int
	// TagOwner returns a manifest that assigns the tag to an item, and true if there is one. It ignores the item's own tags.
	TagOwner(t item.Tag, id item.ID) (library.Owner, bool, error)
}

// Stage collects the effect of mutations on the items of one property.
type Stage struct {
	Property library.PropertyID
	Base     Base
	Namer    *Namer
	// Random is the source of random bytes for short codes. Now is the time of the changes.
	Random io.Reader
	Now    time.Time
	// Sequence is the highest id ever assigned or imported. The Stage assigns the ids after it to items without an id.
	Sequence item.ID
	// Imported is true if the property has had items, and all their times of the last change came from imports. As long as it is true, or
	// if the property has never had an item, a new item keeps the time that it comes with.
	Imported bool
	// KeepHistory is the number of entries to keep of the history of each item. If it is 0, the Stage collects no entries.
	KeepHistory int

	// Items are the changed items, in the order of their first change.
	Items []Item
	// Tags, Names, Namespaces and Units hold the new tags, field names, namespaces of own tags, and conversion units. The name of the field of
	// each new namespace is also in Names.
	Tags       map[item.Tag]bool
	Names      map[NameSum]bool
	Namespaces map[string]bool
	Units      map[definitions.Source]*definitions.Entry
	// Codes holds the short codes of staged items. All stages of one write share this map.
	Codes map[string]bool

	at map[item.ID]int // maps the id of an item to its index in Items
}

// Item is the staged state of an item, with facts about its stored state.
type Item struct {
	ID item.ID
	// Item is the new content of the item, or nil if the item is deleted.
	Item *item.Item
	// Existed is true if the item is already stored. Code is the stored short code.
	Existed bool
	Code    string
	// Erase is true if the store must erase the previous bytes of the item, because the item is deleted or its submission changes.
	Erase bool
	// Extent says how the new content differs from the stored one.
	Extent Extent
	// History are the new entries of the item's history, the oldest first. The store adds them to the stored history, unless NewHistory is
	// true, because another item had the id before.
	History    []library.HistoryEntry
	NewHistory bool

	stored *item.Item // the item before the first mutation, or nil
}

// Extent says which members of an item have changed. A created or deleted item has changed in AnyMember.
type Extent uint8

const (
	// Nothing means that the item is as before, even its time of the last change.
	Nothing Extent = iota
	// PrivateMembers means that everything that query.Public sees of the item is as before.
	PrivateMembers
	// AnyMember means that a member that query.Public sees may have changed.
	AnyMember
)

// NewStage returns an empty stage. The caller must set Namer, Random, Now, Sequence, Imported and KeepHistory.
func NewStage(p library.PropertyID, base Base, codes map[string]bool) *Stage {
	return &Stage{
		Property: p, Base: base, Codes: codes, Tags: map[item.Tag]bool{}, Names: map[NameSum]bool{},
		Namespaces: map[string]bool{}, Units: map[definitions.Source]*definitions.Entry{}, at: map[item.ID]int{},
	}
}

// Empty reports whether nothing is staged.
func (s *Stage) Empty() bool {
	return len(s.Items) == 0 && len(s.Tags) == 0 && len(s.Names) == 0 && len(s.Units) == 0
}

// set stages after as the state of an item after a mutation, or the deletion of the item if after is nil. It sets the LastModified of after.
// before must be the result of s.item.
func (s *Stage) set(m *library.Mutation, id item.ID, before, after *item.Item) {
	if after != nil {
		after.LastModified = s.lastModified(before, after)
	}
	i, staged := s.at[id]
	if !staged {
		i = len(s.Items)
		s.at[id] = i
		next := Item{ID: id, Existed: before != nil, stored: before}
		if before != nil {
			next.Code = before.ShortCode
		}
		s.Items = append(s.Items, next)
	}
	it := &s.Items[i]
	it.Item = after
	it.Extent = it.extent(before)
	it.Erase = it.Erase || before != nil && (after == nil || before.Submission != nil && !bytes.Equal(before.Submission, after.Submission))
	if after == nil {
		it.History, it.NewHistory = nil, true
	} else if s.KeepHistory > 0 {
		if e, changed := entryOf(m, s.Now, before, after); changed {
			it.History = append(it.History, e)
		}
	}
}

// extent compares it.Item with the stored item. before is the item before the last mutation.
func (it *Item) extent(before *item.Item) Extent {
	was, is := it.stored, it.Item
	switch {
	case was == nil && is == nil:
		return Nothing
	case was == nil || is == nil:
		return AnyMember
	case was == before && was.LastModified == is.LastModified:
		return Nothing // lastModified has found no difference
	case was == before && bytes.Equal(was.Submission, is.Submission):
		return AnyMember // lastModified has found a difference that is not in a private member
	}
	stored := item.Encode(was)
	if bytes.Equal(stored, item.Encode(is)) {
		return Nothing
	}
	public := *is
	public.Submission, public.LastModified = was.Submission, was.LastModified
	if bytes.Equal(stored, item.Encode(&public)) {
		return PrivateMembers
	}
	return AnyMember
}

// lastModified returns the LastModified of an item that a mutation changes from before to after. after contains the time that the item came
// with, or none.
func (s *Stage) lastModified(before, after *item.Item) string {
	previous := ""
	if before != nil {
		previous = before.LastModified
		same := *after
		same.LastModified = previous
		if bytes.Equal(item.Encode(before), item.Encode(&same)) {
			return previous
		}
	} else if ms, given := item.Millis(after.LastModified); given && (s.Imported || s.Sequence == 0) {
		s.Imported = true
		if ms <= s.Now.UnixMilli() {
			return after.LastModified
		}
		return item.NextModified("", s.Now) // the clock of the origin is ahead, or the time is wrong
	}
	s.Imported = false
	return item.NextModified(previous, s.Now)
}

// item returns the staged or stored item, or nil if it does not exist.
func (s *Stage) item(id item.ID) (*item.Item, error) {
	if i, staged := s.at[id]; staged {
		return s.Items[i].Item, nil
	}
	return s.Base.Item(id)
}

// exists reports whether the item exists in the staged state.
func (s *Stage) exists(id item.ID) (bool, error) {
	if i, staged := s.at[id]; staged {
		return s.Items[i].Item != nil, nil
	}
	return s.Base.Exists(id)
}

// MakeTag stages the creation of a tag, unless the tag already exists.
func (s *Stage) MakeTag(t item.Tag) {
	if !s.Base.TagMade(t) {
		// Clone the strings, which can be parts of a long text, because the tag is kept longer than that text.
		s.Tags[item.Tag{Namespace: strings.Clone(t.Namespace), Key: strings.Clone(t.Key)}] = true
	}
}
