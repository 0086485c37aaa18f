package store

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// Owners lists the owners within scope (see library.Library).
func (s *Store) Owners(_ context.Context, scope library.Scope) ([]library.Owner, error) {
	set, err := s.current()
	if err != nil {
		return nil, err
	}
	return set.Scoped(scope), nil
}

// Definition returns the served version of the definition of an owner, or the newest version if none is served.
func (s *Store) Definition(_ context.Context, owner library.Owner) (library.Definition, error) {
	set, err := s.current()
	if err != nil {
		return library.Definition{}, err
	}
	return set.Definition(owner)
}

// current returns all definitions of the store and which of them are served, or ErrClosed.
func (s *Store) current() (definitions.Set, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return definitions.Set{}, library.ErrClosed
	}
	return s.served.set, nil
}

// Properties lists all properties that are served (see library.Library).
func (s *Store) Properties() []library.PropertyID {
	return peek(s, func(now *served) []library.PropertyID { return slices.Sorted(maps.Keys(now.set.Catalogues())) })
}

// HasTag reports whether a tag has ever been created (see library.Library).
func (s *Store) HasTag(p library.PropertyID, t item.Tag) (bool, error) {
	if _, err := s.Served(p); err != nil {
		return false, err
	}
	return peek(s, func(now *served) bool { return now.property(p).made[t] }), nil
}

// History returns the newest changes of an item (see library.Library).
func (s *Store) History(_ context.Context, p library.PropertyID, id item.ID) ([]library.HistoryEntry, error) {
	served, err := s.Served(p)
	if err != nil {
		return nil, err
	}
	type answer struct {
		exists bool
		stored []byte
	}
	found, err := lookUp(s, func(f finder) (a answer, err error) {
		if a.exists, err = f.has(itemKey(p, id)); err != nil {
			return a, err
		}
		value, _, err := f.find(historyKey(p, id))
		a.stored = bytes.Clone(value)
		return a, err
	})
	if err == nil && !found.exists {
		err = library.UnknownItem(id)
	}
	if err != nil {
		return nil, err
	}
	return mutations.ReadHistory(found.stored, served.Spec.KeptHistory())
}

// Tokens yields all tokens and then their changes (see library.Library).
func (s *Store) Tokens(ctx context.Context) iter.Seq2[library.TokenEvent, error] {
	return s.tokens.Listen(ctx)
}

// Sealer returns the Sealer that encodes and decodes the cursors of this store. Cursors stay valid in later processes that open the same
// store.
func (s *Store) Sealer() *library.Sealer { return s.sealer }

// ShortLink returns the target of a short link (see library.Library).
func (s *Store) ShortLink(_ context.Context, code string) (library.PropertyID, string, error) {
	notFound := fmt.Errorf("short link: %w", library.ErrNotFound)
	at, it, err := s.byCode(code)
	if err != nil {
		return "", "", err
	}
	if it == nil {
		return "", "", notFound
	}
	original := it.Content.OriginalURL
	if original == "" && it.Content.Media != nil {
		original = it.Content.Media.OriginalURL
	}
	u, err := url.Parse(original)
	if err != nil || it.ApprovalStatus != item.Approved || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", "", notFound
	}
	return at, original, nil
}

// byCode returns the item that has a short code in a served property, with the property, or nil if there is none.
func (s *Store) byCode(code string) (library.PropertyID, *item.Item, error) {
	if code == "" {
		return "", nil, nil
	}
	type answer struct {
		property library.PropertyID
		item     *item.Item
	}
	properties := s.Properties()
	found, err := lookUp(s, func(f finder) (answer, error) {
		places, err := holders(f, properties, code)
		if err != nil || len(places) == 0 {
			return answer{}, err
		}
		l := lookup{place: places[0], decode: true}
		err = l.run(f, nil)
		return answer{places[0].property, l.item}, errors.Join(err, l.err)
	})
	return found.property, found.item, err
}

// AuthorKey returns the key of author references (see library.Library).
func (s *Store) AuthorKey() []byte {
	return peek(s, func(now *served) []byte { return bytes.Clone(now.authorKey) })
}

// Mark returns a mark of the operator (see library.Library).
func (s *Store) Mark(key string) (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return "", library.ErrClosed
	}
	return s.served.marks[key], nil
}

// peek calls look with the data in memory, while it holds the read lock.
func peek[T any](s *Store, look func(now *served) T) T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return look(s.served)
}

// Catalogue returns the catalogue of a property, or nil if the property is not served.
func (s *Store) Catalogue(p library.PropertyID) *definitions.Catalogue {
	return peek(s, func(now *served) *definitions.Catalogue { return now.set.Catalogue(p) })
}

// Stored lists all properties that are served or have stored data, in the order of ids.
func (s *Store) Stored() []library.PropertyID {
	return peek(s, func(now *served) []library.PropertyID { return slices.Sorted(maps.Keys(now.properties)) })
}

// Count returns the number of items of a property, even if it is not served.
func (s *Store) Count(p library.PropertyID) int64 {
	return peek(s, func(now *served) int64 { return now.property(p).items })
}

// PropertyVersion returns the number of the batch that last changed a property, or 0 if the property has no stored data.
func (s *Store) PropertyVersion(p library.PropertyID) uint64 {
	return peek(s, func(now *served) uint64 { return now.property(p).version })
}

// Version returns the number of the last batch.
func (s *Store) Version() uint64 {
	return peek(s, func(now *served) uint64 { return now.version })
}

// PageVersion returns the library.Page.Version of a result that the batch with this number changed last. until is the time until which the
// result cannot change without a write; it distinguishes different results without a batch in between. READ-ONLY callers see the version in
// the ETag. It is a keyed hash, because all properties share the numbers of batches, which would show how much is written to others.
func (s *Store) PageVersion(batch uint64, until time.Time) string {
	now := peek(s, func(now *served) *served { return now })
	if last := now.pageVersion.Load(); last != nil && last.batch == batch && last.until.Equal(until) {
		return last.text
	}
	mac := hmac.New(sha256.New, now.authorKey)
	fmt.Fprintf(mac, "page version\x00%s %d", now.id, batch)
	if !until.IsZero() {
		fmt.Fprintf(mac, " %d", until.UnixMilli())
	}
	made := pageVersion{batch, until, hex.EncodeToString(mac.Sum(nil)[:12])}
	now.pageVersion.Store(&made)
	return made.text
}

// ID returns the identity of this store: 32 hexadecimal digits that stay the same after a restart. A store that is restored from a backup
// has another identity.
func (s *Store) ID() string {
	return peek(s, func(now *served) string { return now.id })
}
