package opensearch

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
)

// open opens the library whose index prefix is derived from dir. At the end of the test, it deletes the indices.
func open(t *testing.T, dir string, clock func() time.Time) *Library {
	t.Helper()
	return openWith(t, dir, clock, nil)
}

// openWith is like open, with an HTTP transport.
func openWith(t *testing.T, dir string, clock func() time.Time, transport http.RoundTripper) *Library {
	t.Helper()
	return openOptions(t, dir, func(o *Options) { o.Clock, o.Transport = clock, transport })
}

// openOptions is like open. It calls adjust, which can change the options.
func openOptions(t *testing.T, dir string, adjust func(*Options)) *Library {
	t.Helper()
	sum := sha256.Sum256([]byte(dir))
	o := Options{
		URLs: nodetest.URLs(t), Prefix: "test-" + hex.EncodeToString(sum[:8]),
		RefreshInterval: 20 * time.Millisecond, FollowInterval: 100 * time.Millisecond,
		LookTimeout: time.Minute, ReadTimeout: time.Minute, // for a busy machine
	}
	adjust(&o)
	mark := filepath.Join(dir, "opened")
	if _, err := os.Stat(mark); err != nil {
		nodetest.DropAtEnd(t, o.Prefix)
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLibrary(t *testing.T) {
	t.Parallel()
	nodetest.URLs(t)
	librarytest.Run(t, func(t *testing.T, dir string, clock func() time.Time) library.Library {
		t.Helper()
		return open(t, dir, clock)
	})
}
