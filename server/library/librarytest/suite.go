// Package librarytest is the conformance suite of package library: it tests the contract of the Library interface. An implementation runs
// it as follows:
//
//	func TestLibrary(t *testing.T) { librarytest.Run(t, open) }
//
// Each test has its own store, and a clock that only the test advances, so that no test waits for time to pass. The package may import
// library, query and item.
package librarytest

import (
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Factory opens the library stored in dir, or creates a library if dir has none. A factory reads the time only from clock. To test
// restarts, the suite closes the library and calls the factory again with the same dir. The factory must not register a cleanup that closes
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
		"scopes":      scopeTests,
		"grants":      grantTests,
		"tokens":      tokenTests,
		"versions":    versionTests,
		"writes":      writeTests,
		"conditions":  conditionTests,
		"exports":     exportTests,
		"erasure":     erasureTests,
		"history":     historyTests,
		"changes":     changeTests,
		"modified":    modifiedTests,
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
