package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// pausing is a context that blocks the n-th call of Err until the test closes goOn. If end is true, the context has ended from that call
// on.
type pausing struct {
	context.Context
	left    atomic.Int64
	end     bool
	reached chan struct{}
	goOn    chan struct{}
}

func pauseAt(n int64, end bool) *pausing {
	p := &pausing{Context: context.Background(), end: end, reached: make(chan struct{}), goOn: make(chan struct{})}
	p.left.Store(n)
	return p
}

func (p *pausing) Err() error {
	left := p.left.Add(-1)
	if left == 0 {
		close(p.reached)
		<-p.goOn
	}
	if left <= 0 && p.end {
		return context.Canceled
	}
	return nil
}

// waitLibrary returns a library with items in several segments. It has a tag and a unit with rules that select items.
func waitLibrary(t *testing.T) *Library {
	t.Helper()
	l, err := Open(Options{Dir: t.TempDir(), sealDocs: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	owner := func(kind library.Kind, name string) library.Owner {
		return library.Owner{Install: "cluster", Kind: kind, Namespace: "shop", Name: name}
	}
	results, err := l.Apply(t.Context(), []library.Definition{
		{Property: trialShop, Owner: owner(library.KindProperty, "default"), PropertySpec: &library.Property{PlatformPageID: 7}},
		{Property: trialShop, Owner: owner(library.KindTag, "summer"), Tag: &library.TagRule{
			Tag: item.Tag{Namespace: "vibe", Key: "summer"}, Selector: "text:beach",
		}},
		{Property: trialShop, Owner: owner(library.KindUnit, "sandals"), Unit: &library.UnitRule{
			Unit: item.Unit{ID: library.UnitID(trialShop, "shop", "sandals"), Name: "sandals"}, Selector: "tags.vibe.key:summer",
		}},
	})
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for first := 1; first < 80; first += 10 {
		if err := putSlow(t.Context(), l, first, 10); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// TestReaderStopsWaitingAtItsDeadline blocks a first reader at the n-th check of its context, for each n. Meanwhile, a second reader of
// the same listing must get either the result or the error of its own deadline. A third reader must get the result even if the first
// reader is then canceled.
func TestReaderStopsWaitingAtItsDeadline(t *testing.T) {
	l := waitLibrary(t)
	parsed, err := query.Parse("beech~ tags.vibe.key:summer activate_units.name:sandals")
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"_score:desc", "id:asc", "campaign:asc"} {
		order, err := query.ParseOrder(by)
		if err != nil {
			t.Fatal(err)
		}
		r := library.Read{Property: trialShop, Query: parsed.Root, Order: order, Limit: 5, Favourite: &item.Tag{Namespace: "vibe", Key: "summer"}}
		type answer struct {
			items string
			err   error
		}
		read := func(ctx context.Context) chan answer {
			out := make(chan answer, 1)
			go func() {
				p, err := l.Read(ctx, r)
				if err != nil {
					out <- answer{err: err}
				} else {
					out <- answer{items: fmt.Sprintf("%d %s", p.Total, p.Items)}
				}
			}()
			return out
		}
		forget := func() {
			l.follower.cache.Shrink(0)
			l.follower.property(trialShop).reads.Forget()
		}
		want := <-read(t.Context())
		if want.err != nil {
			t.Fatal(want.err)
		}
		waited := 0
		for n := int64(1); ; n++ {
			forget()
			ctx := pauseAt(n, n%2 == 0)
			first := read(ctx)
			select {
			case <-ctx.reached:
			case got := <-first: // the first reader checks its context fewer than n times
				if got != want {
					t.Fatalf("%s: %+v, want %+v", by, got, want)
				}
				if waited == 0 || n < 10 {
					t.Errorf("%s: the second reader waited %d times, the first was blocked at %d checks", by, waited, n)
				}
				ctx = nil
			}
			if ctx == nil {
				break
			}
			short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			switch got := <-read(short); {
			case errors.Is(got.err, context.DeadlineExceeded):
				waited++
			case got != want:
				t.Errorf("%s: stopped at %d, the second reader got %+v, want %+v", by, n, got, want)
			}
			cancel()
			third := read(t.Context())
			close(ctx.goOn)
			if got := <-first; ctx.end && !errors.Is(got.err, context.Canceled) || !ctx.end && got != want {
				t.Errorf("%s: stopped at %d, the first reader got %+v", by, n, got)
			}
			if got := <-third; got != want {
				t.Errorf("%s: stopped at %d, the third reader got %+v, want %+v", by, n, got, want)
			}
		}
	}
}
