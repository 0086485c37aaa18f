package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/hack/bench/report"
)

// scale sets the size of a run.
type scale struct {
	name  string
	items int
	// chunk is the number of items in one round of the import. The first fifth of all items is the early stage.
	chunk int
	// rounds is the number of rounds of each subject.
	rounds int
	// requests is the number of requests in one round of pages.
	requests int
	// booleans is the number of boolean queries in a round. No query occurs in two rounds.
	booleans int
	// family is the number of queries of each family in a round of the comparison of libraries. No query occurs in two rounds.
	family int
	// posts is the number of posts in one round. postsOpenSearch is this number for OpenSearch.
	posts, postsOpenSearch int
	// standing is the number of items that are imported while there are standingFilters filters.
	standing, standingFilters int
	// percolated is the number of items that one round sends to the percolator.
	percolated int
	// restarts is the number of restarts of each kind.
	restarts int
	// scaled is the number of items in the library on OpenSearch. scaledRounds is the number of rounds in which these items are imported.
	// scaledPosts is the number of posts in one round.
	scaled, scaledRounds, scaledPosts int
}

// filters is the number of filters in the store.
const filters = 1000

// minItems is the minimum number of items that every part needs.
const minItems = 2000

// scaleOf returns the quick or the full scale, or a scale with the given number of items for development.
func scaleOf(full bool, items int) scale {
	s := scale{
		name: report.Quick, items: 200_000, chunk: 20_000, rounds: 7, requests: 1500, booleans: 40, family: 20,
		posts: 3000, postsOpenSearch: 1500, standing: 50_000, standingFilters: 10_000, percolated: 200, restarts: 3,
		scaled: 60_000, scaledRounds: 5, scaledPosts: 200,
	}
	if full {
		s.name, s.items, s.chunk, s.standing, s.percolated = report.Full, 1_000_000, 50_000, 200_000, 400
	}
	if items > 0 {
		s.name, s.items, s.chunk = report.Development, items, items/10
		s.rounds, s.requests, s.booleans, s.family, s.posts, s.postsOpenSearch = 3, 300, 20, 10, 500, 300
		s.standing, s.standingFilters, s.percolated, s.restarts = items/2, min(items, 10_000), 20, 2
		s.scaled, s.scaledRounds, s.scaledPosts = items, 5, 100
	}
	return s
}

// early returns the number of items of the early stage.
func (s scale) early() int { return s.items / 5 }

// Parts of a run, in order. The import of the items is not a part that can be selected: it runs before all parts that need the items. Only
// the comparison of libraries does not need this import.
const (
	partPages     = "pages"
	partWire      = "wrk"
	partSearch    = "search"
	partRestart   = "restart"
	partPosts     = "posts"
	partStanding  = "standing"
	partScaled    = "opensearch"
	partLibraries = "libraries"
)

var parts = []string{partPages, partWire, partSearch, partRestart, partPosts, partStanding, partScaled, partLibraries}

// chosen parses the flag -only.
func chosen(only string) (map[string]bool, error) {
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(cmp.Or(only, strings.Join(parts, ",")), ",") {
		if !slices.Contains(parts, name) {
			return nil, fmt.Errorf("-only %q: the parts are %s", name, strings.Join(parts, ", "))
		}
		wanted[name] = true
	}
	return wanted, nil
}
