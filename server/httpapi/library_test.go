package httpapi_test

import (
	"os"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch"
)

func TestMain(m *testing.M) { os.Exit(nodetest.Run(m)) }

// openLibrary opens the library for these tests: the engine, or the library on an OpenSearch cluster if VITRINE_TEST_LIBRARY is opensearch.
func openLibrary(t testing.TB, clock func() time.Time) library.Library {
	t.Helper()
	if os.Getenv("VITRINE_TEST_LIBRARY") != "opensearch" {
		l, err := engine.Open(engine.Options{Dir: t.TempDir(), Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	urls := nodetest.URLs(t)
	prefix := nodetest.Prefix(t)
	l, err := opensearch.Open(t.Context(), opensearch.Options{
		URLs: urls, Prefix: prefix, Clock: clock, RefreshInterval: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
