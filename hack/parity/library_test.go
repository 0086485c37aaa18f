package parity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch"
	"github.com/vitrine-dev/vitrine/server/query"
)

// whole is a subject that uses a complete library, with the items in one property. It reads the pages of a result with cursors, as clients
// of a server do.
type whole struct {
	library.Library
	now time.Time
}

// corpusProperty is the property with the items.
const corpusProperty = library.PropertyID("parity/corpus")

const (
	// written is the number of items in one call of Write, and read is the number of items on one page.
	written = 500
	read    = 2000
)

// newOpenSearch returns the library on OpenSearch with the items of the corpus. prefix is the prefix of its indices.
func newOpenSearch(ctx context.Context, url, prefix string, docs []document, now time.Time) (*whole, error) {
	lib, err := opensearch.Open(ctx, opensearch.Options{URLs: []string{url}, Prefix: prefix, RefreshInterval: 50 * time.Millisecond})
	if err != nil {
		return nil, fmt.Errorf("open the library on OpenSearch: %w", err)
	}
	w := &whole{lib, now}
	if err := w.fill(ctx, docs); err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	return w, nil
}

func (w *whole) fill(ctx context.Context, docs []document) error {
	owner := library.Owner{Install: "parity", Kind: library.KindProperty, Namespace: "parity", Name: "corpus"}
	results, err := w.Apply(ctx, []library.Definition{{Property: corpusProperty, Owner: owner, Created: w.now, PropertySpec: &library.Property{PlatformPageID: 1}}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return fmt.Errorf("declare the property: %w", err)
	}
	for chunk := range slices.Chunk(docs, written) {
		muts := make([]library.Mutation, len(chunk))
		for i, d := range chunk {
			muts[i] = library.Mutation{Put: d.line.Item, Units: d.line.Units}
		}
		outcomes, err := w.Write(ctx, corpusProperty, muts)
		if err != nil {
			return fmt.Errorf("write the corpus: %w", err)
		}
		for i, o := range outcomes {
			if o.Err != nil {
				return fmt.Errorf("write item %d: %w", chunk[i].id, o.Err)
			}
		}
	}
	return nil
}

// search returns every match in the given order, without scores, because a library returns no scores.
func (w *whole) search(ctx context.Context, n query.Node, order query.Order) ([]hit, error) {
	r := library.Read{Property: corpusProperty, Audience: query.Private, Query: n, Order: order, Limit: read, OnlyIDs: true, Now: w.now}
	var hits []hit
	for {
		page, err := w.Read(ctx, r)
		if err != nil {
			return nil, err
		}
		for _, id := range page.IDs {
			hits = append(hits, hit{id: id})
		}
		if page.Next == "" {
			if int64(len(hits)) != page.Total {
				return nil, fmt.Errorf("the pages have %d items, and the total is %d", len(hits), page.Total)
			}
			return hits, nil
		}
		r.After = page.Next
	}
}

// explain returns why an item does or does not match a query.
func (w *whole) explain(ctx context.Context, n query.Node, id int64) (library.Explanation, error) {
	e, err := w.Explain(ctx, library.Read{Property: corpusProperty, Audience: query.Private, Query: n, Now: w.now}, id)
	if err != nil {
		return library.Explanation{}, err
	}
	return *e, nil
}
