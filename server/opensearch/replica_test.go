package opensearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
	"github.com/vitrine-dev/vitrine/server/opensearch/records"
)

// replicas opens a library in n replicas.
func replicas(t *testing.T, n int) []*Library {
	t.Helper()
	dir := t.TempDir()
	out := make([]*Library, n)
	for i := range out {
		out[i] = open(t, dir, time.Now)
		t.Cleanup(func() {
			if err := out[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	apply(t, out[0], agreedDefinitions()[0])
	return out
}

func apply(t *testing.T, l *Library, defs ...library.Definition) {
	t.Helper()
	results, err := l.Apply(t.Context(), defs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

func mustWrite(t *testing.T, l *Library, muts ...library.Mutation) []library.Outcome {
	t.Helper()
	outcomes, err := l.Write(t.Context(), shop, muts)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if o.Err != nil {
			t.Fatalf("mutation %d: %v", i, o.Err)
		}
	}
	return outcomes
}

func image(id item.ID, text string) *item.Item {
	return &item.Item{ID: id, ApprovalStatus: item.Approved, Content: item.Content{ContentType: item.Image, Text: text}}
}

func accessToken(values ...byte) library.Definition {
	d := library.Definition{Property: shop, Owner: manifest(library.KindToken, "front"), Created: noon, Token: &library.Token{}}
	for _, v := range values {
		d.Token.Values = append(d.Token.Values, library.TokenValue{Digest: library.Digest{v}})
	}
	return d
}

// TestConditionsAcrossReplicas tests conditional writes that reach different replicas.
func TestConditionsAcrossReplicas(t *testing.T) {
	t.Parallel()
	var all []library.Library
	for _, l := range replicas(t, 4) {
		waitServed(t, l)
		all = append(all, l)
	}
	librarytest.Compete(t, all...)
}

// TestDefinitionsReachEveryReplica checks that each change of a token in one replica reaches the other replica.
func TestDefinitionsReachEveryReplica(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	apply(t, r[0], accessToken(1))
	changes := []func(){
		func() { apply(t, r[0], accessToken(2)) },
		func() {
			if n, err := r[0].Remove(ctx, []library.Owner{accessToken().Owner}); n != 1 || err != nil {
				t.Errorf("removed %d: %v", n, err)
			}
		},
		func() { apply(t, r[0], accessToken(3)) },
		func() {},
	}
	want := []byte{1, 2, 0, 3}
	for e, err := range r[1].Tokens(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Synced {
			continue
		}
		got := byte(0)
		if e.Token != nil {
			got = e.Token.Values[0].Digest[0]
		}
		if got != want[0] {
			t.Fatalf("token %d, want %d", got, want[0])
		}
		changes[0]()
		if changes, want = changes[1:], want[1:]; len(want) == 0 {
			return
		}
	}
	t.Fatalf("the other replica did not see token %d in time", want[0])
}

// TestReplicasAssignDifferentIDs checks that replicas never assign the same id to two items.
func TestReplicasAssignDifferentIDs(t *testing.T) {
	t.Parallel()
	r := replicas(t, 3)
	var mu sync.Mutex
	drawn := map[item.ID]int{}
	var wg sync.WaitGroup
	for _, l := range r {
		wg.Go(func() {
			waitServed(t, l)
			for range 10 {
				outcomes, err := l.Write(t.Context(), shop, []library.Mutation{{Put: image(0, "")}, {Put: image(0, "")}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, o := range outcomes {
					drawn[o.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(drawn) != 60 {
		t.Errorf("%d different ids for 60 items", len(drawn))
	}
}

// TestMissedPurge purges a property and creates it again. A replica that sees only the creation must not use anything that it remembers
// from before the purge.
func TestMissedPurge(t *testing.T) {
	t.Parallel()
	for _, reload := range []bool{false, true} {
		t.Run(fmt.Sprintf("reload=%v", reload), func(t *testing.T) {
			t.Parallel()
			r := replicas(t, 2)
			waitServed(t, r[1])
			tag := item.Tag{Namespace: "vibe", Key: "bold"}
			tagged := func(id item.ID) []library.Mutation {
				return []library.Mutation{{Put: image(id, "")}, {Tag: &tag, IDs: []item.ID{id}}}
			}
			mustWrite(t, r[1], tagged(7)...)
			unlock, err := r[1].records.Lock(t.Context()) // prevents the follower from reading changes
			if err != nil {
				t.Fatal(err)
			}
			property := agreedDefinitions()[0]
			if _, err := r[0].Remove(t.Context(), []library.Owner{property.Owner}); err != nil {
				t.Fatal(err)
			}
			if err := r[0].Purge(t.Context(), shop); err != nil {
				t.Fatal(err)
			}
			apply(t, r[0], property)
			follow := r[1].records.CatchUp
			if reload {
				follow = r[1].records.Reload
			}
			if err := follow(t.Context()); err != nil {
				t.Fatal(err)
			}
			unlock()
			mustWrite(t, r[1], tagged(5)...)
			if made, err := r[0].HasTag(shop, tag); err != nil || !made {
				t.Errorf("the tag exists: %v, %v", made, err)
			}
			if o := mustWrite(t, r[0], library.Mutation{Put: image(0, "")}); o[0].ID != 6 {
				t.Errorf("id %d, want 6", o[0].ID)
			}
			if x, err := r[1].indices.Writable(t.Context(), shop); err != nil || x.UUID != indicesOf(t, r[0]).Current.UUID {
				t.Errorf("writes go to %+v, %v, which is not the current index", x, err)
			}
		})
	}
}

// waitServed waits until a replica serves the property.
func waitServed(t *testing.T, l *Library) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for len(l.Properties()) == 0 {
		if ctx.Err() != nil {
			t.Error("the replica does not serve the property")
			return
		}
		if err := l.records.SetMark(ctx, records.Anyone, "wait", fmt.Sprint(time.Now())); err != nil {
			t.Error(err)
			return
		}
	}
}

// TestManyDefinitions checks that a replica stores many definitions in several requests, because each request has a time limit. Another
// replica must keep what it has read of them if it cannot read all of them at once.
func TestManyDefinitions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opened := func(on func(*http.Request) (*http.Response, error)) *Library {
		transport := &intercepted{RoundTripper: http.DefaultTransport}
		l := openWith(t, dir, time.Now, transport)
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		transport.intercept(on)
		return l
	}
	var most atomic.Int64
	l := opened(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/_bulk") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			most.Store(max(most.Load(), int64(bytes.Count(body, []byte("\n"))/2)))
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	apply(t, l, agreedDefinitions()[0])
	var searches atomic.Int64
	behind := opened(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/_search") && searches.Add(1)%2 == 0 {
			return respond(r, http.StatusBadRequest, `{"error":{"type":"refused"},"status":400}`), nil
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	const n = 4500
	units := make([]library.Definition, n)
	for i := range units {
		name := fmt.Sprintf("unit%d", i)
		units[i] = library.Definition{Property: shop, Owner: manifest(library.KindUnit, name), Created: noon, Unit: &library.UnitRule{Unit: item.Unit{ID: int64(i + 1), Name: name}}}
	}
	apply(t, l, units...)
	if most := most.Load(); most == 0 || most > 2000 {
		t.Errorf("a request stored %d definitions, want at most 2000", most)
	}
	for within := time.After(time.Minute); ; {
		if c := behind.records.Now().Set.Catalogue(shop); c != nil && len(c.UnitRules) == n {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-within:
			t.Fatal("the other replica has not read the definitions")
		}
	}
}

// TestConcurrentUpdates checks that no change is lost if replicas change the same items at the same time.
func TestConcurrentUpdates(t *testing.T) {
	t.Parallel()
	r := replicas(t, 3)
	mustWrite(t, r[0], library.Mutation{Put: image(1, "")}, library.Mutation{Put: image(2, "")})
	const each = 8
	var wg sync.WaitGroup
	for i, l := range r {
		wg.Go(func() {
			waitServed(t, l)
			for k := range each {
				tag := &item.Tag{Namespace: "vibe", Key: string(rune('a'+i)) + string(rune('a'+k))}
				outcomes, err := l.Write(t.Context(), shop, []library.Mutation{{Tag: tag, IDs: []item.ID{1, 2}}})
				if err == nil {
					err = outcomes[0].Err
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, id := range []item.ID{1, 2} {
		tags, err := r[2].ItemTags(t.Context(), shop, id)
		if err != nil {
			t.Fatal(err)
		}
		if len(tags) != len(r)*each {
			t.Errorf("item %d has %d tags, want %d: %v", id, len(tags), len(r)*each, tags)
		}
	}
}

// lossy is a transport. For every second bulk request, it loses the response after the cluster has executed the request.
type lossy struct {
	http.RoundTripper
	bulks atomic.Int64
}

var errLost = errors.New("the connection broke")

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/_bulk") && l.bulks.Add(1)%2 == 1 {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return nil, errLost
	}
	return res, err
}

// TestLostResponses checks that a write whose response is lost is retried and takes effect only once.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openWith(t, dir, time.Now, &lossy{RoundTripper: http.DefaultTransport})
	defer l.Close()
	apply(t, l, agreedDefinitions()[0], accessToken(1))
	for i, o := range mustWrite(t, l, library.Mutation{Put: image(1, "a")}, library.Mutation{Put: image(0, "b")}, library.Mutation{Put: image(3, "c")}) {
		if o.ID != item.ID(i+1) || !o.Created {
			t.Errorf("outcome %d: %+v", i, o)
		}
	}
	tag := &item.Tag{Namespace: "vibe", Key: "bold"}
	mustWrite(t, l, library.Mutation{Tag: tag, IDs: []item.ID{1, 2, 3}})
	mustWrite(t, l, library.Mutation{Untag: tag, IDs: []item.ID{1, 3}})
	mustWrite(t, l, library.Mutation{Delete: true, ID: 3})
	if s := l.State(t.Context()); s.Items != 2 {
		t.Errorf("%d items, want 2", s.Items)
	}
	for id, want := range map[item.ID]int{1: 0, 2: 1} {
		if tags, err := l.ItemTags(t.Context(), shop, id); err != nil || len(tags) != want {
			t.Errorf("item %d has the tags %v (%v), want %d", id, tags, err, want)
		}
	}
	if n, err := l.Remove(t.Context(), []library.Owner{accessToken().Owner}); n != 1 || err != nil {
		t.Errorf("removed %d: %v", n, err)
	}
}

// full is a transport that rejects one bulk request for lack of capacity each time refused is set to false.
type full struct {
	http.RoundTripper
	refused atomic.Bool
}

func (f *full) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/_bulk") && f.refused.CompareAndSwap(false, true) {
		body := `{"error":{"type":"rejected_execution_exception","reason":"full"},"status":429}`
		return &http.Response{
			StatusCode: http.StatusTooManyRequests, Status: "429 Too Many Requests", Header: http.Header{}, Request: r,
			Body: io.NopCloser(bytes.NewReader([]byte(body))),
		}, nil
	}
	return f.RoundTripper.RoundTrip(r)
}

// TestBackPressure checks that a write that the cluster rejects for lack of capacity is retried.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	transport := &full{RoundTripper: http.DefaultTransport}
	transport.refused.Store(true)
	l := openWith(t, t.TempDir(), time.Now, transport)
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	transport.refused.Store(false)
	mustWrite(t, l, library.Mutation{Put: image(1, "")})
	if !transport.refused.Load() {
		t.Error("nothing was refused")
	}
}

// TestReadOnlyIndex checks that writes fail and reads succeed while an index is read-only, as on a full disk. After that, writes must
// succeed again.
func TestReadOnlyIndex(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	mustWrite(t, l, library.Mutation{Put: image(1, "beach")})
	block := func(on any) {
		t.Helper()
		body := object{"index.blocks.read_only_allow_delete": on}
		if err := l.cluster.Do(t.Context(), http.MethodPut, "/"+l.names.Items(shop)+"/_settings", body, nil); err != nil {
			t.Fatal(err)
		}
	}
	block(true)
	_, err := l.Write(t.Context(), shop, []library.Mutation{{Put: image(2, "")}})
	if !errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a write: %v, want ErrUnavailable with the reason", err)
	}
	if _, err := l.ReadItem(t.Context(), library.ItemRead{Property: shop, ID: 1}); err != nil {
		t.Errorf("a read: %v", err)
	}
	block(nil)
	mustWrite(t, l, library.Mutation{Put: image(2, "")})
}

// TestUnreachable checks that Open fails with ErrUnavailable if the cluster is unreachable.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Options{URLs: []string{"http://127.0.0.1:1"}, Timeout: 200 * time.Millisecond})
	if !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
}

// TestDeposedLeader checks that a leader cannot store anything after another replica has become the leader. Callers that need not be the
// leader, such as the HTTP API, must still be able to store definitions.
func TestDeposedLeader(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2)
	lead := func(l *Library) library.Library {
		t.Helper()
		leading, err := l.Lead(t.Context(), "pod")
		if err != nil {
			t.Fatal(err)
		}
		return leading
	}
	first := lead(r[0])
	if _, err := first.Apply(t.Context(), []library.Definition{accessToken(1)}); err != nil {
		t.Fatal(err)
	}
	second := lead(r[1])
	writes := func(l library.Library) map[string]error {
		_, applied := l.Apply(t.Context(), []library.Definition{accessToken(2)})
		_, removed := l.Remove(t.Context(), []library.Owner{accessToken().Owner})
		_, swept := l.Sweep(t.Context(), library.Scope{Install: accessToken().Owner.Install, Kinds: []library.Kind{library.KindToken}, Confirmed: true}, nil)
		return map[string]error{"Apply": applied, "Remove": removed, "Sweep": swept, "SetMark": l.SetMark(t.Context(), "loaded", "true")}
	}
	for what, err := range writes(first) {
		if !errors.Is(err, library.ErrDeposed) {
			t.Errorf("%s of the deposed leader: %v", what, err)
		}
	}
	if d, err := r[1].Definition(t.Context(), accessToken().Owner); err != nil || d.Token.Values[0].Digest[0] != 1 {
		t.Errorf("the deposed leader changed the token: %+v, %v", d.Token, err)
	}
	for what, err := range writes(second) {
		if err != nil {
			t.Errorf("%s of the leader: %v", what, err)
		}
	}
	apply(t, r[0], accessToken(3))
	// A replica that leads again begins a new term.
	again := lead(r[0])
	if _, err := first.Remove(t.Context(), nil); !errors.Is(err, library.ErrDeposed) {
		t.Errorf("the first term of a leader that leads again: %v", err)
	}
	if n, err := again.Remove(t.Context(), []library.Owner{accessToken().Owner}); n != 1 || err != nil {
		t.Errorf("the second term: removed %d, %v", n, err)
	}
}

// TestFreezeOfReplicas checks that a freeze also stops the writes of a replica that does not follow the definitions. A replica must be
// able to become the leader of a frozen library without changing the library.
func TestFreezeOfReplicas(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2)
	before, err := r[0].Lead(t.Context(), "pod")
	if err != nil {
		t.Fatal(err)
	}
	apply(t, r[1], agreedDefinitions()[0])        // the replica learns of the property
	apply(t, r[1], agreedDefinitions()[0])        // the replica reads the definitions
	unlock, err := r[1].records.Lock(t.Context()) // stops the follower
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r[0].Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r[1].Write(t.Context(), shop, []library.Mutation{{Put: image(1, "")}}); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a write before the replica knows of the freeze: %v", err)
	}
	unlock()
	var frozen *library.FrozenError
	if _, err := r[1].Apply(t.Context(), []library.Definition{accessToken(1)}); !errors.As(err, &frozen) {
		t.Errorf("a definition: %v", err)
	}
	leading, err := r[1].Lead(t.Context(), "other pod")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []library.Library{leading, before} {
		if _, err := l.Apply(t.Context(), []library.Definition{accessToken(1)}); !errors.As(err, &frozen) {
			t.Errorf("a definition of a leader: %v", err)
		}
	}
	if err := r[0].Thaw(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := leading.Apply(t.Context(), []library.Definition{accessToken(1)}); !errors.Is(err, library.ErrDeposed) {
		t.Errorf("a leader without a stored term: %v", err)
	}
	mustWrite(t, r[0], library.Mutation{Put: image(1, "")})
}
