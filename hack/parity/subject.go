package main

import (
	"context"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// subject is our side: what finds items.
type subject interface {
	// search returns every match, in an order with the tie rule behind it.
	search(ctx context.Context, n query.Node, order query.Order) ([]hit, error)
	// explain says why an item matches a tree or does not.
	explain(ctx context.Context, n query.Node, id int64) (library.Explanation, error)
}

// newSubject makes the side of a library, by its name.
func newSubject(name string, docs []document, now time.Time) (subject, error) {
	if name == referenceLibrary {
		return newWalker(docs, now), nil
	}
	return newSegments(docs, now)
}

// The libraries that can be held to OpenSearch.
const (
	engineLibrary    = "engine"
	referenceLibrary = "reference"
)
