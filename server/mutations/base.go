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

// Base is the state of a property before a Stage. Its errors are returned as outcomes.
type Base interface {
	// Item returns a stored item, or nil.
	Item(id item.ID) (*item.Item, error)
	// Exists reports whether an item is stored.
	Exists(id item.ID) (bool, error)
	// Unit reports whether the property serves a conversion unit.
	Unit(id int64) bool
	// CodeHeld reports whether an item other than id, in any property, has a short code.
	CodeHeld(code string, id item.ID) (bool, error)
	// TagMade reports whether a tag is known to exist. It may return false for an existing tag.
	TagMade(t item.Tag) bool
	// NameKnown reports whether any item of the property ever had a field name; Names returns the number of such names.
	NameKnown(n NameSum) bool
	Names() int
	// TagOwner returns a manifest that puts the tag on an item, independently of the item's own tags.
	TagOwner(t item.Tag, id item.ID) (library.Owner, bool, error)
}

// Stage collects the effect of mutations on the items of one property.
type Stage struct {
	Property library.PropertyID
	Base     Base
	Namer    *Namer
	// Random is the source of short codes; Now is the timestamp of new units.
	Random io.Reader
	Now    time.Time
	// Sequence is the highest id ever assigned or imported. Items without an id get the ids that follow.
	Sequence item.ID

	// Items are the changed items, in the order of their first change.
	Items []Item
	// Tags, Names and Units are the tags, field names and conversion units that are new.
	Tags  map[item.Tag]bool
	Names map[NameSum]bool
	Units map[definitions.Source]*definitions.Entry
	// Codes are the short codes of staged items. All stages of one write share it.
	Codes map[string]bool

	at map[item.ID]int // index of an item in Items
}

// Item is the new state of an item and facts about its previous state.
type Item struct {
	ID item.ID
	// Item is the new item; nil deletes it.
	Item *item.Item
	// Existed reports whether the item was stored before; Code is its previous short code.
	Existed bool
	Code    string
	// Erase reports whether the previous bytes must be erased from the store, because the item is deleted or its submission
	// changes.
	Erase bool
}

// NewStage returns an empty stage. The caller sets the other exported members.
func NewStage(p library.PropertyID, base Base, codes map[string]bool) *Stage {
	return &Stage{
		Property: p, Base: base, Codes: codes, Tags: map[item.Tag]bool{}, Names: map[NameSum]bool{},
		Units: map[definitions.Source]*definitions.Entry{}, at: map[item.ID]int{},
	}
}

// Empty reports whether nothing is staged.
func (s *Stage) Empty() bool {
	return len(s.Items) == 0 && len(s.Tags) == 0 && len(s.Names) == 0 && len(s.Units) == 0
}

// set stages the new state of an item; nil deletes it. before must be the result of s.item.
func (s *Stage) set(id item.ID, before, after *item.Item) {
	erase := before != nil && (after == nil || before.Submission != nil && !bytes.Equal(before.Submission, after.Submission))
	if i, staged := s.at[id]; staged {
		s.Items[i].Item = after
		s.Items[i].Erase = s.Items[i].Erase || erase
		return
	}
	s.at[id] = len(s.Items)
	next := Item{ID: id, Item: after, Existed: before != nil, Erase: erase}
	if before != nil {
		next.Code = before.ShortCode
	}
	s.Items = append(s.Items, next)
}

// item returns the staged or stored item, or nil.
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

// MakeTag stages the existence of a tag.
func (s *Stage) MakeTag(t item.Tag) {
	if !s.Base.TagMade(t) {
		// Clone the strings: the tag outlives the text of its item.
		s.Tags[item.Tag{Namespace: strings.Clone(t.Namespace), Key: strings.Clone(t.Key)}] = true
	}
}
