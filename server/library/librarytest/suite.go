// Package librarytest is the conformance suite of package library: it tests what the Library interface promises. An
// implementation runs it with
//
//	func TestLibrary(t *testing.T) { librarytest.Run(t, open) }
//
// Each test has its own store and a clock that only the test moves, so that no test waits for time to pass. The package may
// import library, query and item.
package librarytest

import (
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Factory opens the library stored in dir, and creates it if there is none. clock is the only source of time that it may
// use. The suite calls it again on the same dir after Close, to test restarts. It must not register a cleanup that closes
// the library.
type Factory func(t *testing.T, dir string, clock func() time.Time) library.Library

// Run tests an implementation against the contract of library.Library.
func Run(t *testing.T, open Factory) {
	groups := map[string]map[string]func(*world){
		"definitions": definitionTests,
		"ownership":   ownershipTests,
		"sweep":       sweepTests,
		"properties":  propertyTests,
		"reads":       readTests,
		"paging":      pagingTests,
		"facets":      facetTests,
		"rules":       ruleTests,
		"audiences":   audienceTests,
		"tokens":      tokenTests,
		"versions":    versionTests,
		"writes":      writeTests,
		"exports":     exportTests,
		"erasure":     erasureTests,
		"restart":     restartTests,
		"concurrency": concurrencyTests,
	}
	for name, tests := range groups {
		t.Run(name, func(t *testing.T) {
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(newWorld(t, open))
				})
			}
		})
	}
}
