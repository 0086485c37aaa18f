package opensearch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
)

// intercepted is a transport that calls the function `on`, if it is set, instead of sending a request.
type intercepted struct {
	http.RoundTripper
	on atomic.Pointer[func(*http.Request) (*http.Response, error)]
}

func (i *intercepted) RoundTrip(r *http.Request) (*http.Response, error) {
	if on := i.on.Load(); on != nil {
		return (*on)(r)
	}
	return i.RoundTripper.RoundTrip(r)
}

// intercept sets the function `on`.
func (i *intercepted) intercept(on func(*http.Request) (*http.Response, error)) { i.on.Store(&on) }

// respond returns a response with a JSON body.
func respond(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// TestUnreadableRecord checks a record that the follower cannot read. The follower must report it until the record is readable again, and
// must apply the other changes of the same poll, here the removal of a token. It must accept no token whose record it cannot read. Open
// must fail while a record is unreadable.
func TestUnreadableRecord(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2)
	other := accessToken(5)
	other.Owner.Name = "other"
	apply(t, r[0], accessToken(1), other)
	follower := r[1].records
	unlock, err := follower.Lock(t.Context()) // prevents the follower from reading changes
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if err := follower.CatchUp(t.Context()); err != nil || len(follower.Now().Set.Tokens()) != 2 {
		t.Fatalf("%v, want two tokens", err)
	}
	if _, err := r[0].Remove(t.Context(), []library.Owner{accessToken().Owner}); err != nil {
		t.Fatal(err)
	}
	source, err := json.Marshal(definitions.SourceOf(other))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(source)
	broken := object{"type": "definition", "value": "{"}
	index := r[0].names.Definitions()
	unreadable := []cluster.Operation{
		{Index: index, ID: "definition-x", Doc: broken},
		{Index: index, ID: "definition-" + hex.EncodeToString(sum[:]), Doc: broken, Over: true},
	}
	stored := r[0].cluster.Bulk(t.Context(), unreadable, cluster.RefreshNow)
	if err := cluster.FirstError(stored); err != nil {
		t.Fatal(err)
	}
	for poll, read := range []func(context.Context) error{follower.CatchUp, follower.CatchUp, follower.Reload, follower.CatchUp} {
		if err := read(t.Context()); err != nil || follower.Problem() == "" || len(follower.Now().Set.Tokens()) != 0 {
			t.Errorf("poll %d: %v, problem %q, %d tokens; want a problem and no token", poll, err, follower.Problem(), len(follower.Now().Set.Tokens()))
		}
	}
	if _, err := Open(t.Context(), r[0].options); err == nil || !strings.Contains(err.Error(), unreadable[0].ID) && !strings.Contains(err.Error(), unreadable[1].ID) {
		t.Errorf("opened: %v, want an error with the record", err)
	}
	var repaired []cluster.Operation
	for i, op := range unreadable {
		repaired = append(repaired, cluster.Operation{Index: op.Index, ID: op.ID, Doc: object{"type": "definition", "value": "", "gone": true}, At: &stored[i].Version})
	}
	if err := cluster.FirstError(r[0].cluster.Bulk(t.Context(), repaired, cluster.RefreshNow)); err != nil {
		t.Fatal(err)
	}
	if err := follower.CatchUp(t.Context()); err != nil || follower.Problem() != "" {
		t.Errorf("%v, problem %q, want none", err, follower.Problem())
	}
}

// TestUnknownConflicts checks a write in which one item is stored and another item conflicts, but the conflict cannot be looked up. Only
// the mutation of the conflicting item must fail.
func TestUnknownConflicts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	l, other := openWith(t, dir, time.Now, transport), open(t, dir, time.Now)
	defer l.Close()
	defer other.Close()
	apply(t, l, agreedDefinitions()[0])
	waitServed(t, other)
	mustWrite(t, l, library.Mutation{Put: image(1, "")})
	var conflicting atomic.Bool
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		switch {
		case conflicting.Load() && strings.HasSuffix(r.URL.Path, "/_mget"):
			return respond(r, http.StatusBadRequest, `{}`), nil
		case strings.Contains(r.URL.RawQuery, "refresh="+cluster.RefreshWait) && conflicting.CompareAndSwap(false, true):
			mustWrite(t, other, library.Mutation{Put: image(1, "changed"), Replace: true})
		}
		return transport.RoundTripper.RoundTrip(r)
	})
	outcomes, err := l.Write(t.Context(), shop, []library.Mutation{{Put: image(0, "")}, {Put: image(1, "own"), Replace: true}, {Put: image(0, "")}})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if failed := o.Err != nil; failed != (i == 1) {
			t.Errorf("mutation %d: %+v", i, o)
		}
	}
}

// TestLostBeforeRefresh checks that searches find an acknowledged item even if the response to the first bulk request was lost before the
// index was refreshed.
func TestLostBeforeRefresh(t *testing.T) {
	t.Parallel()
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	l := openOptions(t, t.TempDir(), func(o *Options) { o.RefreshInterval, o.Transport = 10*time.Second, transport })
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	// If an index has not been searched for some time, OpenSearch does not refresh it periodically, and does not make requests wait for a
	// refresh. This read prevents that.
	read := library.Read{Property: shop, Query: query.All{}, Limit: 10}
	if _, err := l.Read(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	var lost atomic.Bool
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if !strings.Contains(r.URL.RawQuery, "refresh="+cluster.RefreshWait) || !lost.CompareAndSwap(false, true) {
			return transport.RoundTripper.RoundTrip(r)
		}
		r = r.Clone(r.Context())
		r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "refresh="+cluster.RefreshWait, "refresh="+cluster.RefreshNone, 1)
		res, err := transport.RoundTripper.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return nil, err
		}
		return nil, errLost
	})
	if o := mustWrite(t, l, library.Mutation{Put: image(0, "")}); !lost.Load() || o[0].ID != 1 {
		t.Fatalf("%+v, response lost: %v", o, lost.Load())
	}
	if p, err := l.Read(t.Context(), read); err != nil || p.Total != 1 {
		t.Errorf("%+v, %v: want one item", p, err)
	}
}

// TestRedIndex checks that an index without a working shard does not affect other properties. Their short links must lead to their items,
// and their new items must get short codes. Only imported codes must be rejected, because an item in the index may have the same code.
func TestRedIndex(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	withCode := func(id item.ID, code string) *item.Item {
		it := image(id, "")
		it.ShortCode, it.Content.OriginalURL = code, "https://posts.example/1"
		return it
	}
	mustWrite(t, l, library.Mutation{Put: withCode(1, "known")})
	if _, _, err := l.ShortLink(t.Context(), "unknown"); !errors.Is(err, library.ErrNotFound) {
		t.Errorf("an unknown short link: %v, want ErrNotFound", err)
	}
	index := schema.Generation(l.names.Items("shop/red"), 1)
	red := object{
		"settings": object{"number_of_shards": 1, "number_of_replicas": 0, "index.routing.allocation.require._name": "absent"},
		"mappings": schema.All()[1].Mapping(), "aliases": object{l.names.Items("shop/red"): object{}, index + schema.CurrentMark: object{}},
	}
	path := "/" + index + "?wait_for_active_shards=0"
	if err := l.cluster.Do(t.Context(), http.MethodPut, path, red, nil); err != nil {
		t.Fatal(err)
	}
	if _, to, err := l.ShortLink(t.Context(), "known"); to != "https://posts.example/1" || err != nil {
		t.Errorf("a known short link leads to %q: %v", to, err)
	}
	if _, _, err := l.ShortLink(t.Context(), "unknown"); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("an unknown short link: %v, want ErrUnavailable", err)
	}
	drawn, err := item.NewShortCode(nil)
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := l.Write(t.Context(), shop, []library.Mutation{
		{Put: withCode(1, "known"), Replace: true}, {Put: withCode(5, "new")}, {Put: withCode(0, drawn)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if unavailable := errors.Is(o.Err, library.ErrUnavailable); unavailable != (i == 1) {
			t.Errorf("mutation %d: %+v", i, o)
		}
	}
	it, err := newView(l.conn, l.records.Now().Set.Catalogue(shop), noon).item(t.Context(), outcomes[2].ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(it.ShortCode) != randomCodeLength || it.ShortCode == drawn {
		t.Errorf("the new item has the code %q, want one other than %q", it.ShortCode, drawn)
	}
}

// TestTagsOfRules checks that the tags of a property's rules are stored with one request.
func TestTagsOfRules(t *testing.T) {
	t.Parallel()
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	l := openWith(t, t.TempDir(), time.Now, transport)
	defer l.Close()
	var requests atomic.Int64
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/_bulk") {
			requests.Add(1)
		}
		return transport.RoundTripper.RoundTrip(r)
	})
	defs := agreedDefinitions()[:1]
	for _, key := range []string{"a", "b", "c"} {
		tag := &library.TagRule{Tag: item.Tag{Namespace: "vibe", Key: key}, Selector: "featured:true"}
		defs = append(defs, library.Definition{Property: shop, Owner: manifest(library.KindTag, key), Created: noon, Tag: tag})
	}
	apply(t, l, defs...)
	if n := requests.Load(); n != 2 {
		t.Errorf("%d bulk requests, want one for the tags and one for the definitions", n)
	}
	for _, d := range defs[1:] {
		if made, err := l.HasTag(shop, d.Tag.Tag); !made || err != nil {
			t.Errorf("tag %s: %v, %v", d.Tag.Tag.Key, made, err)
		}
	}
}

// TestUnreachableState checks that State describes an unreachable cluster within the default timeout of a Kubernetes probe.
func TestUnreachableState(t *testing.T) {
	t.Parallel()
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	l := openWith(t, t.TempDir(), time.Now, transport)
	defer l.Close()
	for what, fail := range map[string]func(*http.Request) (*http.Response, error){
		"no connection": func(*http.Request) (*http.Response, error) { return nil, errLost },
		"no response": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
	} {
		transport.intercept(fail)
		start := time.Now()
		s := l.State(t.Context())
		if took := time.Since(start); took > 900*time.Millisecond || s.Ready || s.Problem == "" {
			t.Errorf("%s: ready %v, %q after %s", what, s.Ready, s.Problem, took)
		}
	}
}

// closable is a transport that counts calls of CloseIdleConnections.
type closable struct {
	http.RoundTripper
	closed atomic.Int64
}

func (c *closable) CloseIdleConnections() { c.closed.Add(1) }

// TestIdleConnections checks that a failed Open closes its idle connections.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	transport := &closable{RoundTripper: &intercepted{}}
	transport.RoundTripper.(*intercepted).intercept(func(r *http.Request) (*http.Response, error) {
		return respond(r, http.StatusOK, `{}`), nil
	})
	if _, err := Open(t.Context(), Options{URLs: []string{"http://127.0.0.1:1"}, Transport: transport}); err == nil {
		t.Fatal("a library was opened without OpenSearch")
	}
	if transport.closed.Load() == 0 {
		t.Error("the connections stay open")
	}
}
