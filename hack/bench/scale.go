package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/hack/bench/report"
)

// scale is how much of everything a run does.
type scale struct {
	name  string
	items int
	// chunk is how many items one round of the import has. The first fifth of all items is the early stage.
	chunk int
	// bleve is how many items Bleve gets, and so at which size it answers.
	bleve int
	// rounds is how often subjects take turns.
	rounds int
	// requests are those of one round of pages.
	requests int
	// booleans is how many boolean queries a round has, each asked for the first time.
	booleans int
	// posts are those of one round, postsOpenSearch OpenSearch's.
	posts, postsOpenSearch int
	// standing is how many items are imported beside so many standingFilters.
	standing, standingFilters int
	// percolated is how many items one round sends through the percolator.
	percolated int
	// restarts of each kind.
	restarts int
}

// filters is how many filters the store has.
const filters = 1000

// minItems is the least that every part can work with.
const minItems = 2000

// scaleOf returns the quick or the full scale, or one of so many items for development.
func scaleOf(full bool, items int) scale {
	s := scale{
		name: report.Quick, items: 200_000, chunk: 20_000, bleve: 200_000, rounds: 7, requests: 1500, booleans: 40,
		posts: 3000, postsOpenSearch: 1500, standing: 50_000, standingFilters: 10_000, percolated: 200, restarts: 3,
	}
	if full {
		s.name, s.items, s.chunk, s.standing, s.percolated = report.Full, 1_000_000, 50_000, 200_000, 400
	}
	if items > 0 {
		s.name, s.items, s.chunk, s.bleve = report.Development, items, items/10, items
		s.rounds, s.requests, s.booleans, s.posts, s.postsOpenSearch = 3, 300, 20, 500, 300
		s.standing, s.standingFilters, s.percolated, s.restarts = items/2, min(items, 10_000), 20, 2
	}
	return s
}

// early is the size of the early stage.
func (s scale) early() int { return s.items / 5 }

// The parts of a run, in their order. The import is always run: all others need its items.
const (
	partPages    = "pages"
	partSearch   = "search"
	partRestart  = "restart"
	partPosts    = "posts"
	partStanding = "standing"
)

var parts = []string{partPages, partSearch, partRestart, partPosts, partStanding}

// chosen reads the flag -only.
func chosen(only string) (map[string]bool, error) {
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(cmp.Or(only, strings.Join(parts, ",")), ",") {
		if !slices.Contains(parts, name) {
			return nil, fmt.Errorf("-only %q: there are %s", name, strings.Join(parts, ", "))
		}
		wanted[name] = true
	}
	return wanted, nil
}
