package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
)

func TestLibrary(t *testing.T) {
	for name, o := range map[string]Options{
		"defaults": {},
		// Nearly every batch causes a seal or a merge, so that even a few items exercise all code paths.
		"tiny segments":         {sealDocs: 3, memoryParts: 2, fanIn: 2, maxDocs: 64},
		"no cache":              {sealDocs: 8, memoryParts: 1, fanIn: 2, maxDocs: 64, CacheBytes: 1},
		"no cache, but shelves": {sealDocs: 8, memoryParts: 1, fanIn: 2, maxDocs: 64, CacheBytes: 1, shelfFrom: 1},
	} {
		t.Run(name, func(t *testing.T) {
			librarytest.Run(t, func(t *testing.T, dir string, clock func() time.Time) library.Library {
				t.Helper()
				o := o
				o.Dir, o.Clock = dir, clock
				l, err := Open(o)
				if err != nil {
					t.Fatal(err)
				}
				return l
			})
		})
	}
}

func TestForget(t *testing.T) {
	l := openShop(t, Options{})
	mustWrite(t, l, trialShop, beach(1), beach(2))
	views := func() float64 {
		measures := l.Measures()
		return measures[slices.IndexFunc(measures, func(m library.Measure) bool { return m.Name == "views" })].Value
	}
	for range 2 {
		if n, err := beaches(t, l, trialShop); err != nil || n != 2 || views() == 0 {
			t.Fatalf("%d items, %v, %v views", n, err, views())
		}
		l.Forget()
		if views() != 0 {
			t.Errorf("%v views remain", views())
		}
	}
}
