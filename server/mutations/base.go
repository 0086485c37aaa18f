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

// Base is what a property holds before a Stage. Its errors are returned as outcomes.
type Base interface {
	// Item returns a stored item, nil where there is none.
	Item(id item.ID) (*item.Item, error)
	// Exists reports whether an item is stored.
	Exists(id item.ID) (bool, error)
	// Unit reports whether the property serves a conversion unit.
	Unit(id int64) bool
	// CodeHeld reports whether an item other than id, of whatever property, has a short code.
	CodeHeld(code string, id item.ID) (bool, error)
	// TagMade reports whether a tag is known to have been made; false is allowed for one that was.
	TagMade(t item.Tag) bool
	// NameKnown reports whether the items of the property have had a field name, Names how many they have had.
	NameKnown(n NameSum) bool
	Names() int
	// TagOwner returns a manifest by which an item carries a tag, besides the item's own tags.
	TagOwner(t item.Tag, id item.ID) (library.Owner, bool, error)
}

// Stage collects what mutations make of the items of one property.
type Stage struct {
	Property library.PropertyID
	Base     Base
	Namer    *Namer
	// Random draws short codes, Now dates units.
	Random io.Reader
	Now    time.Time
	// Sequence is the highest id ever drawn or imported. Items without an id get the next ones.
	Sequence item.ID

	// Items are the items that change, in the order in which they first changed.
	Items []Item
	// Tags are those that were made and not known before, Names the field names, Units the conversion units.
	Tags  map[item.Tag]bool
	Names map[NameSum]bool
	Units map[definitions.Source]*definitions.Entry
	// Codes are the short codes of staged items. Stages of one write share it.
	Codes map[string]bool

	at map[item.ID]int // where an item is among Items
}

// Item is an item as it will be, and what it was.
type Item struct {
	ID item.ID
	// Item is the new item, nil for one that goes.
	Item *item.Item
	// Existed is whether the item was stored before, with Code as its short code.
	Existed bool
	Code    string
	// Erase is whether the bytes of before have to leave the store: the item goes, or its submission changes.
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

// set stages an item as it will be, nil for none. before is what item returned for it.
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

// item returns an item as it will be, nil when it is not there.
func (s *Stage) item(id item.ID) (*item.Item, error) {
	if i, staged := s.at[id]; staged {
		return s.Items[i].Item, nil
	}
	return s.Base.Item(id)
}

// exists reports whether an item will be there.
func (s *Stage) exists(id item.ID) (bool, error) {
	if i, staged := s.at[id]; staged {
		return s.Items[i].Item != nil, nil
	}
	return s.Base.Exists(id)
}

// MakeTag stages that a tag was made.
func (s *Stage) MakeTag(t item.Tag) {
	if !s.Base.TagMade(t) {
		// The tag is kept for longer than the text of the item that it came in.
		s.Tags[item.Tag{Namespace: strings.Clone(t.Namespace), Key: strings.Clone(t.Key)}] = true
	}
}
