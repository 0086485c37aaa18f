package transfer

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// Facts holds all data of a library, except its items.
type Facts struct {
	// AuthorKey is the key for author references, for the sums of field names, and for cursors.
	AuthorKey []byte
	// Marks are the marks of the operator, without MarkFrozen, MarkTarget, MarkFeed and the mark of a leader.
	Marks map[string]string
	// Definitions are all definitions, even those that are not served.
	Definitions map[definitions.Source]*definitions.Entry
	// Properties are all properties that are served or have stored data.
	Properties map[library.PropertyID]Property
}

// Property contains the facts of one property that remain when its items are deleted.
type Property struct {
	// Items is the number of items. Copy uses it only for Progress, because Copy counts the items itself.
	Items int64
	// Sequence is the highest item id that was ever assigned or imported.
	Sequence item.ID
	// Names are the sums of the names of all fields that items have ever had. Tags are all tags that were ever created.
	Names map[mutations.NameSum]bool
	Tags  map[item.Tag]bool
}

// Line is one item in the form that item.Marshal writes without units, and its history in the form that mutations.AddHistory writes.
type Line struct {
	ID            item.ID
	Text, History []byte
}

// Reader reads the contents of a library.
type Reader interface {
	// Facts returns all data of the library, except its items.
	Facts(ctx context.Context) (*Facts, error)
	// Lines yields all stored items of a property by id. The sequence ends with the first error.
	Lines(ctx context.Context, p library.PropertyID) iter.Seq2[Line, error]
}

// Source is a library that can be copied.
type Source interface {
	Reader
	// Freeze makes every later write fail with library.FrozenError, in all processes and after a restart, until Thaw. When it returns, no
	// earlier write is in progress. It returns the new freeze, or the current one if the library is already frozen.
	Freeze(ctx context.Context) (Freeze, error)
	// Frozen returns the current freeze, or "" if the library accepts writes.
	Frozen(ctx context.Context) (Freeze, error)
	// Thaw makes the library accept writes again. If the library is not frozen, Thaw changes nothing.
	Thaw(ctx context.Context) error
	// End returns the positions of a property after which nothing has changed. The library must be frozen.
	End(ctx context.Context, p library.PropertyID) (End, error)
}

// Noted is a Source that remembers where it is copied to, so that the copy can be found when the migration is cancelled.
type Noted interface {
	Source
	// Note records a description of the target. It also succeeds while the source is frozen. The note is not a part of Facts.
	Note(ctx context.Context, target string) error
	// Noted returns the last note, or "" if there is none.
	Noted(ctx context.Context) (string, error)
}

// Target is a library that a Copy creates.
type Target interface {
	Reader
	// Begin stores the facts in an empty target, and marks it as an unfinished copy of a source with this freeze. In an unfinished copy of
	// the same freeze, it stores the facts again. It fails with *RefusedError for any other target.
	Begin(ctx context.Context, from Freeze, f *Facts) error
	// Put stores items of a property. It replaces items that already exist.
	Put(ctx context.Context, p library.PropertyID, lines []Line) error
	// Finish makes the target a library that can be opened. done describes each property. The feed of the target continues that of the source
	// (see Succession).
	Finish(ctx context.Context, done map[library.PropertyID]Finished) error
}

// Finished describes a property of which everything has been copied.
type Finished struct {
	// Items is the number of items.
	Items int64
	// End is that of the source.
	End End
}

// RefusedError means that a library cannot be copied to a target because of the contents of the target. The target is unchanged.
type RefusedError struct {
	// Reason describes the contents of the target and says what to do.
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// Freeze identifies a period in which a library accepts no writes. It consists of a random text, a space, and the time at which the period
// began.
type Freeze string

// MarkFrozen is the key of the mark that holds the Freeze of a library. MarkTarget is the key of the mark that holds the note of a Noted.
const (
	MarkFrozen = "frozen"
	MarkTarget = "copied-to"
)

// NewFreeze returns a Freeze that begins now.
func NewFreeze(now time.Time) Freeze {
	return Freeze(rand.Text() + " " + now.UTC().Format(time.RFC3339))
}

// Err returns the error for writes during the freeze, or nil if f is "".
func (f Freeze) Err() error {
	if f == "" {
		return nil
	}
	_, at, _ := strings.Cut(string(f), " ")
	since, _ := time.Parse(time.RFC3339, at) // zero for a mark that a person wrote by hand
	return &library.FrozenError{Since: since}
}

// differs describes the first difference between the facts of two libraries, or returns "" if there is none.
func (f *Facts) differs(o *Facts) (string, error) {
	switch {
	case !bytes.Equal(f.AuthorKey, o.AuthorKey):
		return "the key of author references", nil
	case !maps.Equal(f.Marks, o.Marks):
		return "the marks of the operator", nil
	case !slices.Equal(f.properties(), o.properties()):
		return "the list of properties", nil
	case len(f.Definitions) != len(o.Definitions):
		return fmt.Sprintf("the number of definitions (%d, not %d)", len(o.Definitions), len(f.Definitions)), nil
	}
	for s, e := range f.Definitions {
		is := o.Definitions[s]
		if is == nil {
			return fmt.Sprintf("the definition %+v, which is missing", s), nil
		}
		want, err := e.Encode()
		if err != nil {
			return "", err
		}
		got, err := is.Encode()
		if err != nil {
			return "", err
		}
		if !is.Same(e) || !bytes.Equal(want, got) {
			return fmt.Sprintf("the definition %+v", s), nil
		}
	}
	for p, want := range f.Properties {
		got := o.Properties[p]
		switch {
		case want.Sequence != got.Sequence:
			return fmt.Sprintf("the highest item id of property %s (%d, not %d)", p, got.Sequence, want.Sequence), nil
		case !maps.Equal(want.Names, got.Names):
			return fmt.Sprintf("the field names of property %s", p), nil
		case !maps.Equal(want.Tags, got.Tags):
			return fmt.Sprintf("the tags of property %s", p), nil
		}
	}
	return "", nil
}

// properties lists the properties, by id.
func (f *Facts) properties() []library.PropertyID { return slices.Sorted(maps.Keys(f.Properties)) }
