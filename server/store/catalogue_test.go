package store

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestUnreadableFilter lists a stored filter with a query that this version cannot parse. The error must name the filter, and must not wrap
// a *query.SyntaxError, which would blame the query of the request.
func TestUnreadableFilter(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	ref := library.FilterRef{UUID: "11111111-2222-4333-8444-555555555555"}
	apply(t, l, library.Definition{Property: shop, Filter: &library.Filter{UUID: ref.UUID, ID: 7, Name: "beach", Query: "text:beach"}})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, func(db *pebble.DB) error {
		it, err := db.NewIter(nil)
		if err != nil {
			return err
		}
		for it.First(); it.Valid() && err == nil; it.Next() {
			if bytes.Contains(it.Value(), []byte("text:beach")) {
				err = db.Set(bytes.Clone(it.Key()), bytes.ReplaceAll(it.Value(), []byte("text:beach"), []byte("text:(each")), pebble.Sync)
			}
		}
		return errors.Join(err, it.Close())
	})
	l = mustOpen(t, Options{Dir: dir})
	f, err := l.Catalogue(shop).Filter(ref)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Parsed()
	syntax := (*query.SyntaxError)(nil)
	if !errors.Is(err, library.ErrUnreadable) || errors.As(err, &syntax) || !strings.Contains(err.Error(), ref.UUID) {
		t.Errorf("%v, want ErrUnreadable with the filter's name, and no syntax error of a caller's", err)
	}
}
