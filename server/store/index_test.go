package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// opened is an open store, together with its index.
type opened struct {
	*Store
	items *items
}

func open(o Options) (*opened, error) {
	l := &opened{items: &items{}}
	s, err := Open(o, l.items)
	if err != nil {
		return nil, err
	}
	l.Store = s
	return l, nil
}

// items is an index for tests. It contains the texts of all items, and checks what the store passes to it.
type items struct {
	mu      sync.Mutex
	texts   map[place]string
	version uint64
	changes []*Change
	// loads and erasures count the calls of Load and Erase. refuse is the error that the next call of Prepare returns.
	loads, erasures int
	refuse          error
	// unindexable is a text that makes Prepare fail, or "" if there is none.
	unindexable string
	// loadError and eraseError are the errors that Load and Erase return.
	loadError, eraseError error
	closed                bool
}

var seenKey = []byte("seen")

func (x *items) Load(s *Store) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.loadError != nil {
		return x.loadError
	}
	texts := map[place]string{}
	for _, p := range s.Stored() {
		for it, err := range s.Items(context.Background(), p) {
			if err != nil {
				return err
			}
			texts[place{p, it.ID}] = it.Content.Text
		}
	}
	x.texts, x.version = texts, s.Version()
	x.loads++
	return nil
}

func (x *items) Prepare(c *Change, keys *IndexBatch) (func(), error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.refuse; err != nil {
		x.refuse = nil
		return nil, err
	}
	for _, pc := range c.Properties {
		for _, it := range pc.Items {
			if x.unindexable != "" && it.Item != nil && it.Item.Content.Text == x.unindexable {
				return nil, fmt.Errorf("property %s: %w", pc.Property, &item.InvalidError{Member: "text", Reason: x.unindexable})
			}
		}
	}
	if c.Version != x.version+1 {
		return nil, fmt.Errorf("batch %d comes after %d", c.Version, x.version)
	}
	for _, pc := range c.Properties {
		for _, it := range pc.Items {
			if _, there := x.texts[place{pc.Property, it.ID}]; there != it.Existed {
				return nil, fmt.Errorf("item %d existed: %t, says the change", it.ID, it.Existed)
			}
		}
	}
	install := func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.version = c.Version
		x.changes = append(x.changes, c)
		for _, p := range c.Purged {
			for at := range x.texts {
				if at.property == p {
					delete(x.texts, at)
				}
			}
		}
		for _, pc := range c.Properties {
			for _, it := range pc.Items {
				if it.Item == nil {
					delete(x.texts, place{pc.Property, it.ID})
				} else {
					x.texts[place{pc.Property, it.ID}] = it.Item.Content.Text
				}
			}
		}
	}
	return install, keys.Set(seenKey, binary.BigEndian.AppendUint64(nil, c.Version))
}

func (x *items) TagOwner(library.PropertyID, item.Tag, item.ID) (library.Owner, bool, error) {
	return library.Owner{}, false, nil
}

func (x *items) Erase(context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.erasures++
	return x.eraseError
}

func (x *items) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		panic("closed twice")
	}
	x.closed = true
}

func (x *items) setLoadError(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.loadError = err
}

// count returns the number of items with a text, or of all items if text is "".
func (x *items) count(text string) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := int64(0)
	for _, t := range x.texts {
		if text == "" || t == text {
			n++
		}
	}
	return n
}

// last returns the last Change that the store passed to Prepare.
func (x *items) last(t *testing.T) *Change {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.changes) == 0 {
		t.Fatal("no change came")
	}
	return x.changes[len(x.changes)-1]
}
