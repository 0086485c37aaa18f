// Package librarytest is the suite that every content library must pass: what the interface in package library promises,
// as tests. An implementation runs it with
//
//	func TestLibrary(t *testing.T) { librarytest.Run(t, open) }
//
// Each test has a store of its own and a clock that it moves itself; no test waits for time to pass. The package may
// import library, query and item.
package librarytest

import (
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Factory opens the library that is stored in dir, making it where there is none; clock is the only time that it may go
// by. It is called again on the same dir after Close, to see what a restart leaves. It must not register a cleanup that
// closes the library.
type Factory func(t *testing.T, dir string, clock func() time.Time) library.Library

// Run holds an implementation against the interface.
func Run(t *testing.T, open Factory) {
	groups := map[string]map[string]func(*world){
		"definitions": definitionTests,
		"ownership":   ownershipTests,
		"sweep":       sweepTests,
		"properties":  propertyTests,
		"reads":       readTests,
		"paging":      pagingTests,
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
