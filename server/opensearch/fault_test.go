package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
)

// drop deletes an index, as an administrator might do by mistake.
func drop(t *testing.T, l *Library, index string) {
	t.Helper()
	if err := l.cluster.Do(t.Context(), http.MethodDelete, "/"+index, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// TestDeletedItems checks requests for a property whose items index was deleted. The requests must fail with the name of the index, and
// no write may recreate the index.
func TestDeletedItems(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	mustWrite(t, l, library.Mutation{Put: image(1, "")})
	drop(t, l, schema.Generation(l.names.Items(shop), 1))
	_, written := l.Write(t.Context(), shop, []library.Mutation{{Put: image(2, "")}})
	_, read := l.ReadItem(t.Context(), library.ItemRead{Property: shop, ID: 1})
	_, listed := l.Read(t.Context(), library.Read{Property: shop, Query: query.All{}, Limit: 1})
	for what, err := range map[string]error{"a write": written, "an item": read, "a listing": listed} {
		if !errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), l.names.Items(shop)) {
			t.Errorf("%s: %v, want ErrUnavailable with the name of the index", what, err)
		}
	}
	if s := l.State(t.Context()); !s.Ready || strings.Contains(s.Problem, "is missing") || !s.Troubles[shop].Unserved || !strings.Contains(s.Troubles[shop].Problem, "is missing") {
		t.Errorf("%+v, want only the property without an index to have a trouble", s)
	}
	if _, err := l.Facts(t.Context()); err == nil || !strings.Contains(err.Error(), "the alias "+l.names.Items(shop)) {
		t.Errorf("a migration: %v, want an error with the name of the index", err)
	}
	// After its manifest is removed, the property can be purged and created again.
	if _, err := l.Remove(t.Context(), []library.Owner{agreedDefinitions()[0].Owner}); err != nil {
		t.Fatal(err)
	}
	if err := l.Purge(t.Context(), shop); err != nil {
		t.Errorf("a purge of a property without an index: %v", err)
	}
	if err := l.Purge(t.Context(), shop); !errors.Is(err, library.ErrNotFound) {
		t.Errorf("a second purge: %v, want ErrNotFound", err)
	}
	apply(t, l, agreedDefinitions()[0])
	if o := mustWrite(t, l, library.Mutation{Put: image(0, "")}); o[0].ID != 1 {
		t.Errorf("id %d, want 1: the purge left the ledger", o[0].ID)
	}
}

// TestDeletedDefinitions checks that a library whose definitions were deleted is not ready. While items exist, Open must not create a new
// library.
func TestDeletedDefinitions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, time.Now)
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	mustWrite(t, l, library.Mutation{Put: image(1, "")})
	drop(t, l, schema.SharedIndex(l.names.Definitions()))
	if s := l.State(t.Context()); s.Ready || !strings.Contains(s.Problem, l.names.Definitions()) {
		t.Errorf("ready %v: %q, want the name of the index", s.Ready, s.Problem)
	}
	if _, err := l.Apply(t.Context(), []library.Definition{accessToken(1)}); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a definition: %v, want ErrUnavailable", err)
	}
	if _, err := Open(t.Context(), l.options); err == nil || !strings.Contains(err.Error(), "snapshot") {
		t.Errorf("opened again: %v, want a refusal that says what to do", err)
	}
}

// TestDeletedFacts checks that a library whose ledgers were deleted assigns no ids and is not ready. Open must not create a new library.
func TestDeletedFacts(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir(), time.Now)
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	mustWrite(t, l, library.Mutation{Put: image(0, "")})
	drop(t, l, schema.SharedIndex(l.names.Facts()))
	if _, err := l.Write(t.Context(), shop, []library.Mutation{{Put: image(0, "")}}); !errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), l.names.Facts()) {
		t.Errorf("a new item: %v, want ErrUnavailable with the name of the index", err)
	}
	if p, err := l.Read(t.Context(), library.Read{Property: shop, Query: query.All{}, Limit: 1}); err != nil || p.Total != 1 {
		t.Errorf("a listing: %+v, %v", p, err)
	}
	if s := l.State(t.Context()); s.Ready || !strings.Contains(s.Problem, l.names.Facts()) {
		t.Errorf("ready %v: %q, want the name of the index", s.Ready, s.Problem)
	}
	if _, err := Open(t.Context(), l.options); err == nil || !strings.Contains(err.Error(), "snapshot") {
		t.Errorf("opened again: %v, want a refusal that says what to do", err)
	}
}

// TestChangedByHand checks that a definition that was deleted in the cluster can be stored again.
func TestChangedByHand(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	apply(t, l, accessToken(1))
	body := object{"query": object{"term": object{"type": "definition"}}}
	if err := l.cluster.Do(t.Context(), http.MethodPost, "/"+l.names.Definitions()+"/_delete_by_query?refresh=true", body, nil); err != nil {
		t.Fatal(err)
	}
	apply(t, l, agreedDefinitions()[0], accessToken(2))
	if d, err := l.Definition(t.Context(), accessToken().Owner); err != nil || d.Token.Values[0].Digest[0] != 2 {
		t.Errorf("%+v, %v: want the new token", d, err)
	}
}

// TestLongNames checks that a property is served even if its name is too long for the name of an index.
func TestLongNames(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	long := library.PropertyID("shop/" + strings.Repeat("n", 250))
	d := agreedDefinitions()[0]
	d.Property, d.Owner.Name = long, strings.Repeat("n", 250)
	apply(t, l, d)
	it := image(1, "")
	it.ShortCode, it.Content.OriginalURL = "long", "https://posts.example/1"
	if _, err := l.Write(t.Context(), long, []library.Mutation{{Put: it}}); err != nil {
		t.Fatal(err)
	}
	if p, address, err := l.ShortLink(t.Context(), "long"); p != long || address != it.Content.OriginalURL || err != nil {
		t.Errorf("%s %s %v", p, address, err)
	}
	if n := l.State(t.Context()).PropertyItems[long]; n != 1 {
		t.Errorf("%d items, want 1", n)
	}
	if _, err := l.Remove(t.Context(), []library.Owner{d.Owner}); err != nil {
		t.Fatal(err)
	}
	if s := l.State(t.Context()); s.PropertyItems[long] != 1 || s.Items != 1 {
		t.Errorf("without its manifest, the property has %d items of %d, want 1", s.PropertyItems[long], s.Items)
	}
}

// TestDeepPages checks that an offset beyond the result window is rejected, unless it is after the last item. Cursors must reach all
// items.
func TestDeepPages(t *testing.T) {
	t.Parallel()
	l := openOptions(t, t.TempDir(), func(o *Options) { o.window = 10 })
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	var muts []library.Mutation
	for id := range item.ID(25) {
		muts = append(muts, library.Mutation{Put: image(id+1, "")})
	}
	mustWrite(t, l, muts...)
	r := library.Read{Property: shop, Query: query.All{}, Order: query.Order{{Field: "id"}}, Limit: 4}
	for offset, want := range map[int64]int{0: 4, 4: 4, 6: 4, 25: 0, 1 << 40: 0} {
		r.Offset = offset
		if p, err := l.Read(t.Context(), r); err != nil || p.Count != want || p.Total != 25 || (p.Next == "") != (want == 0) {
			t.Errorf("offset %d: %+v %v, want %d items", offset, p, err, want)
		}
	}
	r.Offset = 7
	var deep *library.OffsetError
	if _, err := l.Read(t.Context(), r); !errors.As(err, &deep) || deep.Limit != 10 || !strings.Contains(err.Error(), "_links.next") {
		t.Errorf("%v, want an error that names the link to the next page", err)
	}
	r.Offset = 0
	n := 0
	for {
		p, err := l.Read(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		n += p.Count
		if r.After = p.Next; r.After == "" {
			break
		}
	}
	if n != 25 {
		t.Errorf("cursors reach %d items, want 25", n)
	}
}

// failing is a transport that makes the cluster fail to write one document.
type failing struct {
	http.RoundTripper
	// id is the id of the document that the cluster must fail to write. An empty string means none.
	id atomic.Value
}

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if id, _ := f.id.Load().(string); id != "" && strings.HasSuffix(r.URL.Path, "/_bulk") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		// Replace the name of the index with one that does not exist.
		body = bytes.ReplaceAll(body, fmt.Appendf(nil, `"_id":"%s","_index":"`, id), fmt.Appendf(nil, `"_id":"%s","_index":"absent-`, id))
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return f.RoundTripper.RoundTrip(r)
}

// TestPartialFailure checks that if one item cannot be stored, only the mutation of this item fails.
func TestPartialFailure(t *testing.T) {
	t.Parallel()
	transport := &failing{RoundTripper: http.DefaultTransport}
	l := openWith(t, t.TempDir(), time.Now, transport)
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	transport.id.Store("2")
	outcomes, err := l.Write(t.Context(), shop, []library.Mutation{{Put: image(1, "")}, {Put: image(2, "")}, {Put: image(3, "")}})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if unavailable := errors.Is(o.Err, library.ErrUnavailable); unavailable != (i == 1) {
			t.Errorf("item %d: %v", i+1, o.Err)
		}
	}
	if _, err := l.Write(t.Context(), shop, []library.Mutation{{Put: image(2, "")}}); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a write that stores no item: %v, want ErrUnavailable", err)
	}
	transport.id.Store("")
	if s := l.State(t.Context()); s.Items != 2 {
		t.Errorf("%d items, want 2", s.Items)
	}
}

// TestErrorsContainNoData checks that no error contains the part of a rejected request that the cluster quotes.
func TestErrorsContainNoData(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	ops := []cluster.Operation{{Index: l.names.Items(shop), ID: "1", Doc: object{"id": "someone@mail.example"}}}
	stored := cluster.FirstError(l.cluster.Bulk(t.Context(), ops, cluster.RefreshNone))
	searched := l.cluster.Do(t.Context(), http.MethodPost, "/"+l.names.Items(shop)+cluster.SearchPath, object{"query": object{"someone@mail.example": object{}}}, nil)
	for what, err := range map[string]error{"a document": stored, "a query": searched} {
		if err == nil || strings.Contains(err.Error(), "someone") {
			t.Errorf("%s: %v, want an error without its content", what, err)
		}
	}
}

// hanging is a transport for a cluster that stops responding.
type hanging struct {
	http.RoundTripper
	now atomic.Bool
}

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.now.Load() {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return h.RoundTripper.RoundTrip(r)
}

// readCalls returns one call for each way to read items from the cluster. The parameter read finds items of shop, which has the item 1.
func readCalls(l *Library, read library.Read) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"read": func(ctx context.Context) error { _, err := l.Read(ctx, read); return err },
		"item": func(ctx context.Context) error {
			_, err := l.ReadItem(ctx, library.ItemRead{Property: shop, ID: 1})
			return err
		},
		"tags": func(ctx context.Context) error { _, err := l.ItemTags(ctx, shop, 1); return err },
		"why":  func(ctx context.Context) error { _, err := l.Explain(ctx, read, 1); return err },
		"link": func(ctx context.Context) error { _, _, err := l.ShortLink(ctx, "code"); return err },
	}
}

// TestSlowCluster checks that every call ends when its context ends, even if the call waits for another call. Calls must succeed again
// when the cluster responds.
func TestSlowCluster(t *testing.T) {
	t.Parallel()
	transport := &hanging{RoundTripper: http.DefaultTransport}
	l := openWith(t, t.TempDir(), time.Now, transport)
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	mustWrite(t, l, library.Mutation{Put: image(1, "beach")})
	transport.now.Store(true)
	owner := agreedDefinitions()[0].Owner
	read := library.Read{Property: shop, Query: query.All{}, Limit: 1}
	var group sync.WaitGroup
	calls := readCalls(l, read)
	maps.Copy(calls, map[string]func(context.Context) error{
		"write": func(ctx context.Context) error {
			_, err := l.Write(ctx, shop, []library.Mutation{{Put: image(0, "")}})
			return err
		},
		"apply": func(ctx context.Context) error {
			_, err := l.Apply(ctx, []library.Definition{accessToken(1)})
			return err
		},
		"remove": func(ctx context.Context) error { _, err := l.Remove(ctx, []library.Owner{owner}); return err },
		"mark":   func(ctx context.Context) error { return l.SetMark(ctx, "key", "value") },
		"purge":  func(ctx context.Context) error { return l.Purge(ctx, shop) },
		"export": func(ctx context.Context) (last error) {
			for _, err := range l.Export(ctx, shop, nil) {
				last = err
			}
			return last
		},
	})
	for what, call := range calls {
		group.Go(func() {
			given := fmt.Errorf("the time for %s is up", what)
			ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, given)
			defer cancel()
			if err := call(ctx); !errors.Is(err, given) {
				t.Errorf("%s: %v, want %v", what, err, given)
			}
		})
	}
	group.Wait()
	transport.now.Store(false)
	mustWrite(t, l, library.Mutation{Put: image(2, "")})
	if p, err := l.Read(t.Context(), read); err != nil || p.Total != 2 {
		t.Errorf("%+v, %v: want 2 items", p, err)
	}
}

// TestReadTimeout checks calls while the cluster does not respond. Every read must end after Options.ReadTimeout, and a write after
// cluster.WriteAttempt.
func TestReadTimeout(t *testing.T) {
	t.Parallel()
	transport := &hanging{RoundTripper: http.DefaultTransport}
	l := openOptions(t, t.TempDir(), func(o *Options) { o.Transport, o.ReadTimeout = transport, 500*time.Millisecond })
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	mustWrite(t, l, library.Mutation{Put: image(1, "beach")})
	transport.now.Store(true)
	defer transport.now.Store(false)
	read := library.Read{Property: shop, Query: query.All{}, Limit: 1}
	var group sync.WaitGroup
	calls := readCalls(l, read)
	maps.Copy(calls, map[string]func(context.Context) error{
		"tag": func(context.Context) error {
			_, err := l.HasTag(shop, item.Tag{Namespace: "vibe", Key: "a"})
			return err
		},
		"facets": func(ctx context.Context) error {
			_, err := l.Facets(ctx, read, library.Facet{Field: query.AllTags, Limit: 1})
			return err
		},
		"write": func(ctx context.Context) error {
			_, err := l.Write(ctx, shop, []library.Mutation{{Put: image(1, ""), Replace: true}})
			return err
		},
	})
	for what, call := range calls {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), l.options.Timeout/2)
			defer cancel()
			if err := call(ctx); !errors.Is(err, library.ErrUnavailable) || ctx.Err() != nil {
				t.Errorf("%s: %v, want ErrUnavailable before the deadline", what, err)
			}
		})
	}
	group.Wait()
}

// TestDeadlineOfSilentCluster checks that a call whose context ends returns ErrUnavailable if the cluster is known not to respond.
func TestDeadlineOfSilentCluster(t *testing.T) {
	t.Parallel()
	transport := &hanging{RoundTripper: http.DefaultTransport}
	l := openWith(t, t.TempDir(), time.Now, transport)
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	transport.now.Store(true)
	defer transport.now.Store(false)
	eventually(t, "the follower fails", l.records.Fails)
	given := errors.New("the budget is used up")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, given)
	defer cancel()
	if _, err := l.Read(ctx, library.Read{Property: shop, Query: query.All{}, Limit: 1}); !errors.Is(err, library.ErrUnavailable) || !errors.Is(err, given) {
		t.Errorf("%v, want ErrUnavailable with the cause", err)
	}
}

// TestManyListedItems checks that a definition can list more items than the result window. The result must count each missing item once,
// and must not count an item as missing after its write was acknowledged.
func TestManyListedItems(t *testing.T) {
	t.Parallel()
	const loadAtOnce = 10_000 // see indices.Load
	l := openOptions(t, t.TempDir(), func(o *Options) { o.window = 10 })
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	mustWrite(t, l, library.Mutation{Put: image(7, "")}, library.Mutation{Put: image(loadAtOnce+1, "")})
	d := library.Definition{Property: shop, Owner: manifest(library.KindTag, "many"), Created: noon, Tag: &library.TagRule{
		Tag: item.Tag{Namespace: "vibe", Key: "many"},
	}}
	for id := range item.ID(loadAtOnce + 2) {
		d.Tag.Items = append(d.Tag.Items, id+1)
	}
	d.Tag.Items = append(d.Tag.Items, 7, 8)
	results, err := l.Apply(t.Context(), []library.Definition{d})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	if r := results[0]; r.MissingItems != loadAtOnce || !slices.Equal(r.MissingFirst, []item.ID{1, 2, 3, 4, 5, 6, 8, 9, 10, 11}) {
		t.Errorf("%d items are missing, first %v", r.MissingItems, r.MissingFirst)
	}
}

// TestMemoryPressure checks reads and deletions while the process is short of memory. They must succeed, and other mutations must be
// rejected.
func TestMemoryPressure(t *testing.T) {
	t.Parallel()
	var pressure atomic.Int32
	l := openOptions(t, t.TempDir(), func(o *Options) { o.Pressure = func() library.Pressure { return library.Pressure(pressure.Load()) } })
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	mustWrite(t, l, library.Mutation{Put: image(1, "")}, library.Mutation{Put: image(2, "")})
	pressure.Store(int32(library.Full))
	outcomes, err := l.Write(t.Context(), shop, []library.Mutation{{Put: image(3, "")}, {Delete: true, ID: 1}})
	if err != nil || !errors.Is(outcomes[0].Err, library.ErrUnavailable) || outcomes[1].Err != nil {
		t.Errorf("%+v, %v: want only the deletion", outcomes, err)
	}
	if p, err := l.Read(t.Context(), library.Read{Property: shop, Query: query.All{}, Limit: 5}); err != nil || p.Total != 1 || p.Count != 1 {
		t.Errorf("%+v, %v: want one item", p, err)
	}
	pressure.Store(int32(library.Relaxed))
	mustWrite(t, l, library.Mutation{Put: image(3, "")})
}

// TestManyUnits queries and sorts by a field of the default unit. The property has more units than the maximum number of clauses in a
// query.
func TestManyUnits(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	const n = 1500
	var muts []library.Mutation
	for id := range item.ID(n) {
		it := image(id+1, "")
		it.Units = []int64{2_000_000 - id}
		unit := item.Unit{ID: it.Units[0], Name: fmt.Sprintf("unit %04d", id%750), ImageURL: "https://cdn.example/a.png", ClickThroughURL: "https://shop.example/a", ExternalID: fmt.Sprintf("%04d", id%750)}
		muts = append(muts, library.Mutation{Put: it, Units: []item.Unit{unit}})
	}
	mustWrite(t, l, muts...)
	order, err := query.ParseOrder("default_activate_unit.external_id:desc,id:asc")
	if err != nil {
		t.Fatal(err)
	}
	r := library.Read{Property: shop, Audience: query.Private, Query: query.All{}, Order: order, Limit: 4}
	p, err := l.Read(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := idsOf(t, p); p.Total != n || !slices.Equal(got, []item.ID{750, 1500, 749, 1499}) {
		t.Errorf("%d items, the first are %v", p.Total, got)
	}
	parsed, err := query.Parse("default_activate_unit.name:(0007 OR 0749) AND NOT default_activate_unit.id:2000000")
	if err != nil {
		t.Fatal(err)
	}
	r.Query = parsed.Root
	if p, err = l.Read(t.Context(), r); err != nil || !slices.Equal(idsOf(t, p), []item.ID{750, 1500, 8, 758}) {
		t.Errorf("%v, %v", idsOf(t, p), err)
	}
}

// idsOf returns the ids of the items of a page.
func idsOf(t *testing.T, p *library.Page) []item.ID {
	t.Helper()
	var items []struct{ ID item.ID }
	if err := json.Unmarshal([]byte("["+string(p.Items)+"]"), &items); err != nil {
		t.Fatal(err)
	}
	ids := make([]item.ID, len(items))
	for i, it := range items {
		ids[i] = it.ID
	}
	return ids
}
