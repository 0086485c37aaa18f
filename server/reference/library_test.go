package reference

import (
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
)

func TestLibrary(t *testing.T) {
	librarytest.Run(t, func(t *testing.T, dir string, clock func() time.Time) library.Library {
		t.Helper()
		l, err := Open(Options{Dir: dir, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}
