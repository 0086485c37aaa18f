package opensearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/upkeep"
	"github.com/vitrine-dev/vitrine/server/query"
)

// nextSchemas returns the schemas of a later version. Its last schema has one more field.
func nextSchemas() []schema.Schema {
	const field = "colour"
	return append(schema.All(), schema.Schema{
		Mapping: func() object {
			m := schema.All()[schema.All().Latest()-1].Mapping()
			m["properties"].(object)[field] = object{"type": "keyword"}
			return m
		},
		Document: func(dst []byte, it *item.Item, line []byte, trace schema.Trace) []byte {
			return append(bytes.TrimSuffix(schema.All()[schema.All().Latest()-1].Document(dst, it, line, trace), []byte("}")), `,"`+field+`":"blue"}`...)
		},
		Tombstones: true,
	})
}

// laterSchema is how errors name the last schema of nextSchemas.
var laterSchema = fmt.Sprintf("schema %d", len(nextSchemas()))

// searchTime is longer than any search in these tests.
const searchTime = time.Second

// never is a settle time that prevents a replica from rebuilding.
const never = 24 * time.Hour

// upgraded opens the library as a later version. This version rebuilds indices after the time `settle`.
func upgraded(t *testing.T, dir string, settle time.Duration, transport http.RoundTripper) *Library {
	t.Helper()
	return openOptions(t, dir, func(o *Options) {
		o.schemas, o.Transport = nextSchemas(), transport
		o.rebuild = upkeep.Times{
			Settle: settle, Check: 20 * time.Millisecond, Retry: 20 * time.Millisecond, Renew: 50 * time.Millisecond, Expire: 500 * time.Millisecond,
			Keep: searchTime,
		}
	})
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for !condition() {
		if !cluster.Wait(ctx, 20*time.Millisecond) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

// indicesOf returns the generations of the property.
func indicesOf(t *testing.T, l *Library) *indices.Generations {
	t.Helper()
	g, err := l.indices.GenerationsOf(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// waitRebuilt waits until the property has only one index, and this index has the schema of the later version.
func waitRebuilt(t *testing.T, l *Library) {
	t.Helper()
	eventually(t, "the rebuild", func() bool {
		g := indicesOf(t, l)
		return g.Current != nil && g.Current.Schema == len(nextSchemas()) && len(g.All()) == 1
	})
}

// exported returns the text of every item.
func exported(t *testing.T, l *Library) map[item.ID]string {
	t.Helper()
	out := map[item.ID]string{}
	for line, err := range l.Export(t.Context(), shop, nil) {
		if err != nil {
			t.Fatal(err)
		}
		it, err := item.Unmarshal(line)
		if err != nil {
			t.Fatal(err)
		}
		out[it.ID] = it.Content.Text
	}
	return out
}

// checkRebuilt checks that the rebuilt index contains exactly the given items, with documents of the later version.
func checkRebuilt(t *testing.T, l *Library, want map[item.ID]string) {
	t.Helper()
	if got := exported(t, l); !maps.Equal(got, want) {
		t.Errorf("%d items, want %d:\n%.2000v\n%.2000v", len(got), len(want), got, want)
	}
	var found cluster.Count
	body := object{"query": object{"term": object{"colour": "blue"}}}
	if err := l.cluster.Do(t.Context(), http.MethodPost, "/"+l.names.Items(shop)+"/_count", body, &found); err != nil {
		t.Fatal(err)
	}
	if *found.Count != int64(len(want)) {
		t.Errorf("%d documents have the new field, want %d", *found.Count, len(want))
	}
	if s := l.State(t.Context()); !s.Ready || s.Problem != "" || s.Items != int64(len(want)) {
		t.Errorf("state: %+v", s)
	}
}

// fill creates items and deletes some of them. It returns the texts of the remaining items.
func fill(t *testing.T, l *Library, n int) map[item.ID]string {
	t.Helper()
	want := map[item.ID]string{}
	var muts []library.Mutation
	for i := range n {
		text := fmt.Sprintf("beach %d", i)
		want[item.ID(i+1)] = text
		it := image(0, text)
		it.ShortCode, it.Content.OriginalURL = fmt.Sprintf("code%d", i+1), "https://posts.example/1"
		if muts = append(muts, library.Mutation{Put: it}); len(muts) == 1000 || i == n-1 {
			mustWrite(t, l, muts...)
			muts = nil
		}
	}
	for id := item.ID(3); id <= item.ID(n); id += 50 {
		muts = append(muts, library.Mutation{Delete: true, ID: id})
		delete(want, id)
	}
	mustWrite(t, l, muts...)
	return want
}

// TestRebuild checks that a later version with another schema rebuilds the index of a property. The rebuilt index must contain the same
// items with the same versions. Earlier cursors and short links must still work.
func TestRebuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := open(t, dir, time.Now)
	defer before.Close()
	apply(t, before, agreedDefinitions()[0])
	want := fill(t, before, 120)
	mustWrite(t, before, library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: "calm"}, IDs: []item.ID{1, 2}, Reason: "asked"})
	read := library.Read{Property: shop, Query: query.All{}, Limit: 50}
	first, err := before.Read(t.Context(), read)
	if err != nil {
		t.Fatal(err)
	}
	after := upgraded(t, dir, 1, nil)
	defer after.Close()
	waitRebuilt(t, after)
	checkRebuilt(t, after, want)
	if again, err := after.Read(t.Context(), read); err != nil || !bytes.Equal(again.Items, first.Items) {
		t.Errorf("the first page differs (%v):\n%s\n%s", err, first.Items, again.Items)
	}
	read.After = first.Next
	if next, err := after.Read(t.Context(), read); err != nil || next.Count != 50 || next.Total != int64(len(want)) {
		t.Errorf("the page after an earlier cursor: %+v, %v", next, err)
	}
	if p, _, err := after.ShortLink(t.Context(), "code7"); p != shop || err != nil {
		t.Errorf("a short link: %q, %v", p, err)
	}
	if h, err := after.History(t.Context(), shop, 2); err != nil || len(h) != 2 || h[0].Reason != "asked" {
		t.Errorf("the history of an item: %+v, %v", h, err)
	}
	if o := mustWrite(t, after, library.Mutation{Put: image(0, "new")}); o[0].ID != 121 {
		t.Errorf("id %d, want 121", o[0].ID)
	}
}

// TestRebuildBackoff checks that a replica waits longer after each failed rebuild, even if another replica fails in between. State must
// give the reason until a rebuild succeeds.
func TestRebuildBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var attempts, claims atomic.Int64
		var works atomic.Bool
		transport := &intercepted{}
		transport.intercept(func(r *http.Request) (*http.Response, error) {
			switch path := r.URL.Path; {
			case strings.HasSuffix(path, "/_doc/rebuild"):
				// Every other time, another replica holds the claim.
				if n := claims.Add(1); n%4 < 2 {
					return respond(r, http.StatusOK, fmt.Sprintf(`{"found":true,"_seq_no":%d,"_primary_term":1,"_source":{}}`, n)), nil
				}
				return respond(r, http.StatusNotFound, `{"found":false}`), nil
			case path == "/_bulk":
				return respond(r, http.StatusOK, `{"items":[{"create":{"_seq_no":0,"_primary_term":1,"status":201}}]}`), nil
			case strings.HasSuffix(path, ",vitrine-items-*"):
				schema := len(nextSchemas())
				if !works.Load() {
					schema--
				}
				const name = "vitrine-items-shop_default"
				return respond(r, http.StatusOK, fmt.Sprintf(`{"%s==1":{"aliases":{"%s":{},"%s==1==write":{}},
					"mappings":{"_meta":{"property":"shop/default","schema":%d}},"settings":{"index":{"uuid":"a"}}}}`, name, name, name, schema)), nil
			case r.Method == http.MethodPut:
				attempts.Add(1)
				return respond(r, http.StatusBadRequest, `{"error":{"type":"illegal_argument_exception","reason":"too many shards"}}`), nil
			}
			return respond(r, http.StatusOK, `{"status":"green","indices":{},"blocks":{},"acknowledged":true,"_shards":{"total":0,"successful":0,"failed":0},"timed_out":false}`), nil
		})
		l, err := newLibrary(Options{URLs: []string{"http://127.0.0.1:1"}, Transport: transport, schemas: nextSchemas()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.rebuilder.Run(ctx)
		}()
		problem := func() string { return l.State(t.Context()).Troubles[shop].Problem }
		<-time.After(time.Hour)
		if n := attempts.Load(); n < 10 || n > 70 {
			t.Errorf("%d attempts in an hour, want about one in three minutes", n)
		}
		if p := problem(); !strings.Contains(p, "rebuild the index of property shop/default: create index") {
			t.Errorf("problem %q, want the reason", p)
		}
		works.Store(true)
		<-time.After(10 * time.Minute)
		if p := problem(); strings.Contains(p, "rebuild") {
			t.Errorf("problem %q after the rebuild", p)
		}
		cancel()
		<-ended
		if err := l.disconnect(); err != nil {
			t.Error(err)
		}
	})
}

// TestUnknownSchema checks that Open fails if an index of items records no schema.
func TestUnknownSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, time.Now)
	mapping := schema.All()[schema.All().Latest()-1].Mapping()
	mapping["_meta"] = object{"property": string(shop)}
	alias := l.names.Items(shop)
	if err := l.indices.Create(t.Context(), schema.Generation(alias, 1), l.indices.ItemSettings(), mapping, alias); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), l.options); !errors.As(err, new(*schema.Error)) || !strings.Contains(err.Error(), "has schema 0") {
		t.Errorf("%v, want an error with the schema", err)
	}
}

// beforeRequest returns a transport that calls `do` once, before it sends a request whose path ends with suffix.
func beforeRequest(suffix string, do func()) *intercepted {
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	var once sync.Once
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, suffix) {
			once.Do(do)
		}
		return transport.RoundTripper.RoundTrip(r)
	})
	return transport
}

// freezing returns a transport that freezes a library before or after a request of a rebuild.
func freezing(t *testing.T, by *Library, suffix string, after bool) (transport *intercepted, done <-chan struct{}) {
	transport = &intercepted{RoundTripper: http.DefaultTransport}
	frozen := make(chan struct{})
	freeze := sync.OnceFunc(func() {
		if _, err := by.Freeze(t.Context()); err != nil {
			t.Error(err)
		}
		close(frozen)
	})
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, suffix) {
			return transport.RoundTripper.RoundTrip(r)
		}
		if !after {
			freeze()
		}
		res, err := transport.RoundTripper.RoundTrip(r)
		if after {
			freeze()
		}
		return res, err
	})
	return transport, frozen
}

// TestFreezeDuringRebuild checks that a freeze stops a rebuild at any point and that the rebuild does not remove the block of the freeze.
// When the library accepts writes again, the rebuild must continue.
func TestFreezeDuringRebuild(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"==2", "==2/_count", "/_block/write", "/_aliases"} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s after=%v", strings.TrimPrefix(suffix, "/"), after), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				before := open(t, dir, time.Now)
				defer before.Close()
				apply(t, before, agreedDefinitions()[0])
				want := fill(t, before, 30)
				transport, frozen := freezing(t, before, suffix, after)
				rebuilding := upgraded(t, dir, 1, transport)
				defer rebuilding.Close()
				<-frozen
				next := upgraded(t, dir, 1, nil)
				defer next.Close()
				current := indicesOf(t, next).Current
				for range 20 {
					cluster.Wait(t.Context(), 20*time.Millisecond)
					for _, l := range []*Library{before, next} {
						blocked, err := l.indices.BlockedIndices(t.Context())
						if g := indicesOf(t, l); err != nil || blocked[current.Name] == "" || g.Current.UUID != current.UUID {
							t.Fatalf("index %s is blocked: %v, %v; the current one is %+v", current.Name, blocked, err, g.Current)
						}
						if s := l.State(t.Context()); !strings.Contains(s.Problem, "vitrine migrate --cancel") || len(s.Troubles) != 0 {
							t.Fatalf("state: %+v", s)
						}
					}
				}
				if _, err := next.Write(t.Context(), shop, []library.Mutation{{Put: image(0, "frozen")}}); !errors.As(err, new(*library.FrozenError)) {
					t.Errorf("a write: %v, want a FrozenError", err)
				}
				if err := next.Purge(t.Context(), "shop/gone"); !errors.As(err, new(*library.FrozenError)) {
					t.Errorf("a purge: %v, want a FrozenError", err)
				}
				if got := exported(t, next); !maps.Equal(got, want) {
					t.Errorf("while frozen: %v, want %v", got, want)
				}
				if err := next.Thaw(t.Context()); err != nil {
					t.Fatal(err)
				}
				eventually(t, "the end of the freeze", func() bool { return next.records.Now().Frozen() == "" })
				mustWrite(t, next, library.Mutation{Put: image(5, "changed"), Replace: true})
				want[5] = "changed"
				waitRebuilt(t, next)
				checkRebuilt(t, next, want)
			})
		}
	}
}

// TestRebuildOfOtherNames checks the rebuild of properties whose names are too long for the name of an index or end like the name of an
// index.
func TestRebuildOfOtherNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := open(t, dir, time.Now)
	defer before.Close()
	properties := []library.PropertyID{shop + "-1", shop + "-2", shop, library.PropertyID("shop/" + strings.Repeat("n", 250))}
	for i, p := range properties {
		d := agreedDefinitions()[0]
		d.Property, d.Owner.Name = p, strings.TrimPrefix(string(p), "shop/")
		apply(t, before, d)
		if _, err := before.Write(t.Context(), p, []library.Mutation{{Put: image(item.ID(i+1), "")}}); err != nil {
			t.Fatal(err)
		}
	}
	after := upgraded(t, dir, 1, nil)
	defer after.Close()
	for i, p := range properties {
		eventually(t, "the rebuild", func() bool {
			g, err := after.indices.GenerationsOf(t.Context(), p)
			return err == nil && g.Current.Schema == len(nextSchemas()) && len(g.All()) == 1
		})
		if _, err := after.ReadItem(t.Context(), library.ItemRead{Property: p, ID: item.ID(i + 1)}); err != nil {
			t.Errorf("property %d: %v", i, err)
		}
	}
	if s := after.State(t.Context()); s.Problem != "" || s.Items != 4 || len(s.PropertyItems) != 4 {
		t.Errorf("%+v", s)
	}
}

// TestPreviousVersion checks that a replica of the previous version reads and writes during a rebuild. After the rebuild, this replica
// must still read, but must reject writes and must not be ready. The previous version must no longer be able to open the library.
func TestPreviousVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := open(t, dir, time.Now)
	defer before.Close()
	apply(t, before, agreedDefinitions()[0])
	want := fill(t, before, 10)
	copying, resume := make(chan struct{}), make(chan struct{})
	after := upgraded(t, dir, 1, beforeRequest("/_block/write", func() {
		close(copying)
		<-resume
	}))
	defer after.Close()
	<-copying
	for i, l := range []*Library{before, after} {
		id := item.ID(100 + i)
		mustWrite(t, l, library.Mutation{Put: image(id, "during")})
		mustWrite(t, l, library.Mutation{Delete: true, ID: item.ID(1 + i)})
		want[id] = "during"
		delete(want, item.ID(1+i))
		if s := l.State(t.Context()); !s.Ready || strings.Contains(s.Problem, "rebuilding") || s.Troubles[shop].Problem != "rebuilding the index" || s.Items != int64(len(want)) {
			t.Errorf("replica %d during the rebuild: %+v", i, s)
		}
	}
	if got := exported(t, before); !maps.Equal(got, want) {
		t.Errorf("during the rebuild: %v, want %v", got, want)
	}
	close(resume)
	waitRebuilt(t, after)
	checkRebuilt(t, after, want)
	if got := exported(t, before); !maps.Equal(got, want) {
		t.Errorf("the previous version reads %v, want %v", got, want)
	}
	for _, m := range []library.Mutation{{Put: image(0, "")}, {Put: image(4, "changed"), Replace: true}, {Delete: true, ID: 4}} {
		if _, err := before.Write(t.Context(), shop, []library.Mutation{m}); !errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), laterSchema) {
			t.Errorf("a write of the previous version: %v", err)
		}
	}
	if s := before.State(t.Context()); s.Ready || !strings.Contains(s.Problem, laterSchema) {
		t.Errorf("the previous version: ready %v, %q", s.Ready, s.Problem)
	}
	if _, err := Open(t.Context(), before.options); err == nil || errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), "snapshot") {
		t.Errorf("the previous version was opened: %v", err)
	}
	checkRebuilt(t, after, want)
}

// TestInterruptedRebuild cuts a replica off from the cluster before and after each kind of request of a rebuild. Another replica must
// complete the rebuild while writes are in progress.
func TestInterruptedRebuild(t *testing.T) {
	t.Parallel()
	for step, is := range map[string]func(method, path, body string) bool{
		"claim": func(_, path, body string) bool {
			return path == "/_bulk" && strings.Contains(body, `"rebuild"`)
		},
		"create": func(method, path, _ string) bool { return method == http.MethodPut && strings.HasSuffix(path, "==2") },
		"copy":   func(_, path, body string) bool { return path == "/_bulk" && strings.Contains(body, schema.CopyMark) },
		"save": func(method, path, _ string) bool {
			return method == http.MethodPut && strings.HasSuffix(path, "/_mapping")
		},
		"ready": func(method, path, _ string) bool {
			return strings.Contains(path, schema.CopyMark) && strings.HasSuffix(path, "/_settings")
		},
		"block": func(_, path, _ string) bool { return strings.HasSuffix(path, "/_block/write") },
		"count": func(_, path, _ string) bool { return strings.HasSuffix(path, "==2/_count") },
		"switch": func(_, path, body string) bool {
			return path == "/_aliases" && strings.Contains(body, "must_exist") && strings.Contains(body, schema.CurrentMark)
		},
		"activate": func(_, path, body string) bool { return path == "/_aliases" && !strings.Contains(body, "must_exist") },
		"drop": func(method, path, _ string) bool {
			return method == http.MethodDelete && strings.HasSuffix(path, "==1")
		},
	} {
		for _, executed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s executed=%v", step, executed), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				before := open(t, dir, time.Now)
				apply(t, before, agreedDefinitions()[0])
				want := fill(t, before, 30)
				if err := before.Close(); err != nil {
					t.Fatal(err)
				}
				transport := &intercepted{RoundTripper: http.DefaultTransport}
				down := make(chan struct{})
				cut := sync.OnceFunc(func() { close(down) })
				transport.intercept(func(r *http.Request) (*http.Response, error) {
					var body []byte
					if r.GetBody != nil {
						content, err := r.GetBody()
						if err != nil {
							return nil, err
						}
						var b bytes.Buffer
						_, _ = b.ReadFrom(content)
						body = b.Bytes()
					}
					select {
					case <-down:
						return nil, errLost
					default:
					}
					if !is(r.Method, r.URL.Path, string(body)) {
						return transport.RoundTripper.RoundTrip(r)
					}
					if executed {
						res, err := transport.RoundTripper.RoundTrip(r)
						if err == nil {
							_ = res.Body.Close()
						}
					}
					cut()
					return nil, errLost
				})
				crashed := upgraded(t, dir, 1, transport)
				defer crashed.Close()
				<-down
				writer := upgraded(t, dir, never, nil)
				defer writer.Close()
				var writes sync.WaitGroup
				writes.Go(func() {
					outcomes, err := writer.Write(t.Context(), shop, []library.Mutation{
						{Put: image(0, "new")}, {Put: image(5, "changed"), Replace: true}, {Delete: true, ID: 6},
					})
					for _, o := range outcomes {
						err = errors.Join(err, o.Err)
					}
					if err != nil {
						t.Error(err)
						return
					}
					want[outcomes[0].ID], want[5] = "new", "changed"
					delete(want, 6)
				})
				next := upgraded(t, dir, 1, nil)
				defer next.Close()
				writes.Wait()
				waitRebuilt(t, next)
				checkRebuilt(t, next, want)
			})
		}
	}
}

// TestSuspendedRebuild suspends a replica before it switches to its copy. Meanwhile, another replica completes the rebuild. When the
// first replica continues, it must not change anything.
func TestSuspendedRebuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := open(t, dir, time.Now)
	defer before.Close()
	apply(t, before, agreedDefinitions()[0])
	want := fill(t, before, 30)
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	reached, resume, answered := make(chan struct{}), make(chan struct{}), make(chan int, 1)
	var suspended atomic.Bool
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if suspended.Load() && r.URL.Path != "/_aliases" {
			return nil, errLost
		}
		if r.URL.Path == "/_aliases" && suspended.CompareAndSwap(false, true) {
			close(reached)
			<-resume
			res, err := transport.RoundTripper.RoundTrip(r.Clone(context.WithoutCancel(r.Context())))
			if err == nil {
				answered <- res.StatusCode
			}
			return res, err
		}
		return transport.RoundTripper.RoundTrip(r)
	})
	first := upgraded(t, dir, 1, transport)
	defer first.Close()
	<-reached
	next := upgraded(t, dir, 1, nil)
	defer next.Close()
	eventually(t, "another replica", func() bool { return indicesOf(t, next).Current.Schema == len(nextSchemas()) })
	mustWrite(t, next, library.Mutation{Put: image(5, "changed"), Replace: true}, library.Mutation{Delete: true, ID: 6})
	want[5] = "changed"
	delete(want, 6)
	close(resume)
	if status := <-answered; status != http.StatusNotFound {
		t.Errorf("the suspended replica's switch: %d", status)
	}
	waitRebuilt(t, next)
	checkRebuilt(t, next, want)
}

// TestPurgeDuringRebuild checks that a purge also erases the copy, and that the property can be created again after the purge.
func TestPurgeDuringRebuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := open(t, dir, time.Now)
	defer before.Close()
	apply(t, before, agreedDefinitions()[0])
	fill(t, before, 30)
	if _, err := before.Remove(t.Context(), []library.Owner{agreedDefinitions()[0].Owner}); err != nil {
		t.Fatal(err)
	}
	purged := make(chan struct{})
	after := upgraded(t, dir, 1, beforeRequest("/_block/write", func() {
		if err := before.Purge(t.Context(), shop); err != nil {
			t.Error(err)
		}
		close(purged)
	}))
	defer after.Close()
	<-purged
	eventually(t, "the purge", func() bool { return len(indicesOf(t, after).All()) == 0 })
	apply(t, after, agreedDefinitions()[0])
	if o := mustWrite(t, after, library.Mutation{Put: image(0, "new")}); o[0].ID != 1 {
		t.Errorf("id %d, want 1", o[0].ID)
	}
	checkRebuilt(t, after, map[item.ID]string{1: "new"})
}

// TestBlockedByHand checks a write to an index that an operator has blocked. The write must fail immediately with the reason.
func TestBlockedByHand(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	if err := l.cluster.Do(t.Context(), http.MethodPut, "/"+l.names.Items(shop)+"/_block/write", nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write(t.Context(), shop, []library.Mutation{{Put: image(1, "")}}); !errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), "index.blocks.write") {
		t.Errorf("%v, want ErrUnavailable with the reason", err)
	}
	if s := l.State(t.Context()); !s.Ready || strings.Contains(s.Problem, "rejects writes") || s.Troubles[shop].Unserved || !strings.Contains(s.Troubles[shop].Problem, "rejects writes") {
		t.Errorf("%+v", s)
	}
}

// TestRebuildUnderLoad checks that no read fails and no write is lost during a rebuild. VITRINE_REBUILD_ITEMS sets the number of items.
func TestRebuildUnderLoad(t *testing.T) {
	t.Parallel()
	items := 2000
	if given := os.Getenv("VITRINE_REBUILD_ITEMS"); given != "" {
		var err error
		if items, err = strconv.Atoi(given); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	before := open(t, dir, time.Now)
	apply(t, before, agreedDefinitions()[0])
	start := time.Now()
	want := fill(t, before, items)
	steady := image(0, "beach") // the writers do not change this item
	steady.ShortCode, steady.Content.OriginalURL = "steady", "https://posts.example/1"
	want[mustWrite(t, before, library.Mutation{Put: steady})[0].ID] = "beach"
	t.Logf("%d items created in %s", items, time.Since(start).Round(time.Second))
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	// One replica rebuilds, and the other two serve requests.
	serving := []*Library{upgraded(t, dir, never, nil), upgraded(t, dir, never, nil)}
	rebuilding := upgraded(t, dir, 1, nil)
	for _, l := range append(serving, rebuilding) {
		defer l.Close()
	}
	done := make(chan struct{})
	var load sync.WaitGroup
	var reads, writes, longestRead, longestWrite atomic.Int64
	measure := func(count, longest *atomic.Int64, call func()) {
		start := time.Now()
		call()
		took := int64(time.Since(start))
		count.Add(1)
		for was := longest.Load(); took > was && !longest.CompareAndSwap(was, took); was = longest.Load() {
		}
	}
	var mu sync.Mutex // guards want
	const writers = 4
	for w := range writers {
		l := serving[w%len(serving)]
		load.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				// Each writer changes only its own items, so the order of writes to an item is known.
				id := item.ID(random.IntN(items/writers)*writers + w + 1)
				mu.Lock()
				_, stored := want[id]
				mu.Unlock()
				text := fmt.Sprintf("beach %d of %d", i, w)
				m := library.Mutation{Put: image(0, text)}
				switch kind := random.IntN(4); {
				case kind == 0 && stored:
					m = library.Mutation{Delete: true, ID: id}
				case kind <= 2:
					m = library.Mutation{Put: image(id, text), Replace: true}
				}
				var outcomes []library.Outcome
				var err error
				measure(&writes, &longestWrite, func() { outcomes, err = l.Write(t.Context(), shop, []library.Mutation{m}) })
				if err == nil {
					err = outcomes[0].Err
				}
				if err != nil {
					t.Errorf("write: %v", err)
					continue
				}
				mu.Lock()
				if m.Delete {
					delete(want, id)
				} else {
					want[outcomes[0].ID] = text
				}
				mu.Unlock()
			}
		})
	}
	scored := query.Order{{Field: query.ScoreKey, Desc: true}}
	beach, err := query.Parse("content.text:beach")
	if err != nil {
		t.Fatal(err)
	}
	for w := range 3 {
		l := serving[w%len(serving)]
		load.Go(func() {
			for read := (library.Read{Property: shop, Query: beach.Root, Limit: 20}); ; {
				select {
				case <-done:
					return
				default:
				}
				if w == 0 {
					read.Order = scored
				}
				var page *library.Page
				var err error
				measure(&reads, &longestRead, func() { page, err = l.Read(t.Context(), read) })
				if err != nil {
					t.Errorf("read: %v", err)
					read.After = ""
					continue
				}
				if page.Count == 0 {
					t.Error("an empty page")
				}
				read.After = page.Next
				if _, _, err := l.ShortLink(t.Context(), "steady"); err != nil {
					t.Errorf("short link: %v", err)
				}
				// On a busy machine, requests of State and of the follower can be late. Any other problem is a fault of the rebuild.
				s := l.State(t.Context())
				late := strings.Contains(s.Problem, "no response within") || strings.Contains(s.Problem, "the definitions were last read")
				if !s.Ready && !late {
					t.Errorf("not ready: %s", s.Problem)
				}
			}
		})
	}
	start = time.Now()
	waitRebuilt(t, rebuilding)
	close(done)
	load.Wait()
	t.Logf("rebuilt in %s; %d reads, longest %s; %d writes, longest %s", time.Since(start).Round(time.Millisecond),
		reads.Load(), time.Duration(longestRead.Load()).Round(time.Millisecond), writes.Load(), time.Duration(longestWrite.Load()).Round(time.Millisecond))
	got := exported(t, serving[0])
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if got[id] != want[id] {
			t.Errorf("item %d: %q, want %q", id, got[id], want[id])
		}
	}
	checkRebuilt(t, rebuilding, want)
}
