package opensearch

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestUnchangedPage checks that a repeated read of an unchanged page needs no search. After a change of an item or a definition, the page
// must be searched again.
func TestUnchangedPage(t *testing.T) {
	t.Parallel()
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	l := openWith(t, t.TempDir(), time.Now, transport)
	defer l.Close()
	var searches atomic.Int64
	items := "/" + l.names.Items(shop) + "/_search"
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == items {
			searches.Add(1)
		}
		return transport.RoundTripper.RoundTrip(r)
	})
	apply(t, l, agreedDefinitions()[0])
	mustWrite(t, l, library.Mutation{Put: image(1, "a")})
	read := library.Read{Property: shop, Query: query.All{}, Limit: 10}
	version := ""
	// search repeats the read until the replica remembers the page, so that the read needs no search.
	search := func(what string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			read.IfVersion = version
			before := searches.Load()
			p, err := l.Read(t.Context(), read)
			if err != nil && !errors.Is(err, library.ErrNotModified) {
				t.Fatal(err)
			}
			if version == p.Version && searches.Load() == before {
				return
			}
			version = p.Version
		}
		t.Fatalf("%s: every read searches", what)
	}
	changes := func(what string) {
		t.Helper()
		read.IfVersion = version
		before := searches.Load()
		if _, err := l.Read(t.Context(), read); err != nil && !errors.Is(err, library.ErrNotModified) {
			t.Fatal(err)
		}
		if searches.Load() == before {
			t.Errorf("%s: the page is not searched again", what)
		}
	}
	search("at first")
	mustWrite(t, l, library.Mutation{Put: image(2, "b")})
	changes("an item")
	search("after an item")
	d := agreedDefinitions()[0]
	d.PropertySpec = &library.Property{PlatformPageID: 77}
	apply(t, l, d)
	changes("a definition")
	search("after a definition")
}

// TestRememberedPageOfOtherReplica checks a page that one replica remembers. It must show every write of another replica as soon as that
// write is acknowledged.
func TestRememberedPageOfOtherReplica(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2)
	waitServed(t, r[1])
	read := library.Read{Property: shop, Query: query.All{}, Limit: 5}
	total := int64(0)
	for id := range item.ID(20) {
		for range 5 { // repeated, so that the replica remembers the page
			p, err := r[1].Read(t.Context(), read)
			if err != nil && !errors.Is(err, library.ErrNotModified) {
				t.Fatal(err)
			}
			read.IfVersion = p.Version
		}
		mustWrite(t, r[0], library.Mutation{Put: image(id+1, "")})
		total++
		p, err := r[1].Read(t.Context(), read)
		if err != nil || p.Total != total {
			t.Fatalf("%+v, %v: want %d items", p, err, total)
		}
	}
}

// TestCloseEndsLookups checks that no lookup of an index state is in progress after Close has returned.
func TestCloseEndsLookups(t *testing.T) {
	t.Parallel()
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	l := openWith(t, t.TempDir(), time.Now, transport)
	apply(t, l, agreedDefinitions()[0])
	var looks atomic.Int64
	looking := make(chan struct{})
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/_stats/get") {
			return transport.RoundTripper.RoundTrip(r)
		}
		if looks.Add(1) == 1 {
			close(looking)
		}
		defer looks.Add(-1)
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-looking
		cancel()
	}()
	if _, err := l.fresh.state(ctx, l.names.Items(shop)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the error of the context", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := looks.Load(); n != 0 {
		t.Errorf("%d lookups are in progress", n)
	}
	if _, err := l.fresh.state(t.Context(), l.names.Items(shop)); !errors.Is(err, library.ErrClosed) {
		t.Errorf("a lookup after Close: %v, want ErrClosed", err)
	}
}

// TestSettleNeedsAllCopies checks that a page is not remembered for a state that one copy of the shard may not show yet.
func TestSettleNeedsAllCopies(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	index := l.names.Items(shop)
	for _, complete := range []bool{false, true} {
		l.fresh.mu.Lock()
		l.fresh.looked[index] = lookedUp{state: "state", began: time.Now().Add(time.Minute), complete: complete}
		l.fresh.mu.Unlock()
		want := indexState("")
		if complete {
			want = "state"
		}
		if got := l.fresh.settle(t.Context(), index); got != want {
			t.Errorf("complete=%v: %q, want %q", complete, got, want)
		}
	}
}
