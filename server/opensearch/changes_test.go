package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/upkeep"
	"github.com/vitrine-dev/vitrine/server/query"
)

var followerRuns = flag.Int("followers.runs", 8, "number of runs of TestFollowersOfNodes")

// followerKills is the number of runs of TestFollowersOfNodes for each kill of a node. The first run has one.
const followerKills = 10

// follower keeps the texts of all items of the property up to date with Changes.
type follower struct {
	l    *Library
	at   library.Position
	has  map[item.ID]string
	lost int
}

// list begins again with a listing.
func (f *follower) list(ctx context.Context) error {
	out, err := f.l.Changes(ctx, library.ChangesRead{Property: shop, Limit: 1})
	if err != nil {
		return err
	}
	f.at, f.has = out.Next, map[item.ID]string{}
	for line, err := range f.l.Export(ctx, shop, nil) {
		if err != nil {
			return err
		}
		it, err := item.Unmarshal(line)
		if err != nil {
			return err
		}
		f.has[it.ID] = it.Content.Text
	}
	return nil
}

// step reads changes and the items that have changed. It returns false if there are no changes.
func (f *follower) step(ctx context.Context, limit int, wait time.Duration) (bool, error) {
	out, err := f.l.Changes(ctx, library.ChangesRead{Property: shop, After: f.at, Limit: limit, Wait: wait})
	if err != nil {
		return true, err
	}
	if out.Lost {
		f.lost++
		return true, f.list(ctx)
	}
	if len(out.Items) > limit {
		return false, fmt.Errorf("%d items, want at most %d", len(out.Items), limit)
	}
	for _, c := range out.Items {
		var shown struct {
			Content struct {
				Text string `json:"text"`
			} `json:"content"`
		}
		text, err := f.l.ReadItem(ctx, library.ItemRead{Property: shop, ID: c.ID, Audience: query.Private})
		switch {
		case errors.Is(err, library.ErrNotFound):
			delete(f.has, c.ID)
			continue
		case err != nil:
			return true, err
		}
		if err := json.Unmarshal(text, &shown); err != nil {
			return true, err
		}
		f.has[c.ID] = shown.Content.Text
	}
	f.at = out.Next
	return len(out.Items) > 0 || out.More, nil
}

// follow follows until `ended` is closed and there are no further changes. Errors that mean that the cluster is unavailable are repeated.
func (f *follower) follow(ctx context.Context, ended <-chan struct{}) error {
	err := f.list(ctx)
	for errors.Is(err, library.ErrUnavailable) && ctx.Err() == nil {
		err = f.list(ctx)
	}
	if err != nil {
		return err
	}
	for {
		last := false
		select {
		case <-ended:
			last = true
		default:
		}
		more, err := f.step(ctx, 1+rand.N(20), rand.N(100*time.Millisecond))
		if errors.Is(err, library.ErrUnavailable) && ctx.Err() == nil {
			continue
		}
		if err != nil || last && !more {
			return err
		}
	}
}

// randomWrites changes random items among `among` until it has sent n writes.
func randomWrites(ctx context.Context, l *Library, n int, among item.ID) error {
	for i := range n {
		var muts []library.Mutation
		for range 1 + rand.N(5) {
			id := 1 + rand.N(among)
			it := image(id, fmt.Sprintf("text %d", rand.N(1000)))
			m := library.Mutation{Put: it, Replace: true}
			switch rand.N(4) {
			case 0:
				m = library.Mutation{Delete: true, ID: id}
			case 1:
				m = library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: string(rune('a' + rand.N(5)))}, IDs: []item.ID{id}}
			case 2:
				it.Submission = fmt.Appendf(nil, `{"n":"%d"}`, rand.N(1000))
			}
			muts = append(muts, m)
		}
		outcomes, err := l.Write(ctx, shop, muts)
		if err != nil && !errors.Is(err, library.ErrUnavailable) {
			return fmt.Errorf("write %d: %w", i, err)
		}
		for _, o := range outcomes {
			unknown := errors.Is(o.Err, library.ErrNotFound) || errors.As(o.Err, new(*library.UnknownItemsError))
			if o.Err != nil && !unknown && !errors.Is(o.Err, library.ErrUnavailable) {
				return fmt.Errorf("write %d: %w", i, o.Err)
			}
		}
	}
	return nil
}

// followWhile follows the property in several followers on all replicas while the given functions write. In the end, each follower must
// have the items of a listing.
func followWhile(t *testing.T, r []*Library, lost bool, writes ...func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	ended := make(chan struct{})
	var writing, following sync.WaitGroup
	followers := make([]*follower, 3)
	for i := range followers {
		followers[i] = &follower{l: r[i%len(r)]}
		following.Go(func() {
			if err := followers[i].follow(ctx, ended); err != nil {
				t.Errorf("follower %d: %v", i, err)
			}
		})
	}
	for _, write := range writes {
		writing.Go(func() {
			if err := write(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	close(ended)
	following.Wait()
	want := exported(t, r[0])
	for i, f := range followers {
		if !maps.Equal(f.has, want) {
			t.Errorf("follower %d has %d items, the listing has %d: %s", i, len(f.has), len(want), gocmp.Diff(want, f.has))
		}
		if f.lost > 0 && !lost {
			t.Errorf("follower %d lost its position %d times", i, f.lost)
		}
	}
}

// TestFollowers checks that followers of two replicas see all changes that both replicas make at the same time.
func TestFollowers(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2)
	waitServed(t, r[1])
	var writes []func(context.Context) error
	for i := range 6 {
		writes = append(writes, func(ctx context.Context) error { return randomWrites(ctx, r[i%2], 60, 40) })
	}
	followWhile(t, r, false, writes...)
}

// slowWrites creates items whose documents take long to index, next to others.
func slowWrites(ctx context.Context, l *Library, n int, next *atomic.Int64) error {
	for range n {
		words := make([]byte, 0, item.MaxText)
		for len(words) < item.MaxText-8 {
			words = append(strconv.AppendUint(words, rand.Uint64N(1<<20), 36), ' ')
		}
		muts := []library.Mutation{}
		for i := range 4 {
			it := image(next.Add(1), "quick")
			if i%2 == 0 {
				it.Content.Text = string(words)
			}
			muts = append(muts, library.Mutation{Put: it, Replace: true})
		}
		if err := writeAll(ctx, l, muts); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes until the cluster has stored all mutations, because a busy cluster can need longer than the limit of a write.
func writeAll(ctx context.Context, l *Library, muts []library.Mutation) error {
	for {
		outcomes, err := l.Write(ctx, shop, muts)
		for _, o := range outcomes {
			err = errors.Join(err, o.Err)
		}
		if !errors.Is(err, library.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
	}
}

// TestFollowersOfSlowWrites checks that followers see operations that become visible after later ones, because their documents are large.
func TestFollowersOfSlowWrites(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2)
	waitServed(t, r[1])
	var next atomic.Int64
	var writes []func(context.Context) error
	for i := range 16 {
		writes = append(writes, func(ctx context.Context) error { return slowWrites(ctx, r[i%2], 5, &next) })
	}
	followWhile(t, r, false, writes...)
}

// TestFollowersOfNodes checks that followers miss no change when the node with the primary shard is killed while they follow, and that they
// keep their positions.
func TestFollowersOfNodes(t *testing.T) {
	t.Parallel()
	c := nodetest.NewCluster(t, 3, "512m")
	r := onCluster(t, c, 2, Options{})
	apply(t, r[0], agreedDefinitions()[0])
	waitServed(t, r[1])
	awaitCopies(t, r[0])
	const writers, writes = 4, 3
	for run := range *followerRuns {
		victim, kill := -1, func() {}
		if run%followerKills == 0 {
			victim = primary(t, c, r[0], r[0].names.Items(shop))
			kill = sync.OnceFunc(func() { c.Kill(victim) })
		}
		var written atomic.Int64
		var all []func(context.Context) error
		for i := range writers {
			all = append(all, func(ctx context.Context) error {
				for range writes {
					if err := randomWrites(ctx, r[i%2], 5, 100); err != nil {
						return err
					}
					if written.Add(1) == writers*writes/4 {
						kill()
					}
				}
				return nil
			})
		}
		followWhile(t, r, false, all...)
		if victim >= 0 {
			c.Restart(victim)
			awaitCopies(t, r[0])
		}
	}
}

// changed returns the changes after a position.
func changed(t *testing.T, l *Library, after library.Position) *library.ItemChanges {
	t.Helper()
	out, err := l.Changes(t.Context(), library.ChangesRead{Property: shop, After: after, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTombstones checks that no read finds a deleted item, although its document stays, and that its id can be used again.
func TestTombstones(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2)
	waitServed(t, r[1])
	l := r[0]
	linked := image(1, "beach")
	linked.ShortCode, linked.Content.OriginalURL = "code", "https://posts.example/1"
	mustWrite(t, l, library.Mutation{Put: linked}, library.Mutation{Put: image(2, "beach")}, library.Mutation{Put: image(3, "harbour")})
	start := changed(t, l, "").Next
	mustWrite(t, l, library.Mutation{Delete: true, ID: 1}, library.Mutation{Delete: true, ID: 2})
	for _, l := range r {
		if out := changed(t, l, start); !slices.Equal(out.Items, []library.ChangedItem{{ID: 1}, {ID: 2}}) || out.More || out.Lost {
			t.Errorf("changes: %+v", out)
		}
		for q, want := range map[string]int64{"*:*": 1, "content.text:beach": 0, "-content.text:beach": 1, "_exists_:gone": 0} {
			parsed, err := query.Parse(q)
			if err != nil {
				continue // not a field
			}
			if p, err := l.Read(t.Context(), library.Read{Property: shop, Query: parsed.Root, Limit: 5, OnlyIDs: true}); err != nil || p.Total != want {
				t.Errorf("%s: %+v, %v", q, p, err)
			}
		}
		read := library.Read{Property: shop, Query: query.All{}, Audience: query.Private}
		if f, err := l.Facets(t.Context(), read, library.Facet{Field: "approval_status", Limit: 5}); err != nil || f.Total != 1 {
			t.Errorf("facets: %+v, %v", f, err)
		}
		if _, err := l.Explain(t.Context(), read, 1); !errors.Is(err, library.ErrNotFound) {
			t.Errorf("explain: %v", err)
		}
		_, item1 := l.ReadItem(t.Context(), library.ItemRead{Property: shop, ID: 1})
		_, tags := l.ItemTags(t.Context(), shop, 1)
		_, history := l.History(t.Context(), shop, 1)
		_, _, link := l.ShortLink(t.Context(), "code")
		for what, err := range map[string]error{"item": item1, "tags": tags, "history": history, "link": link} {
			if !errors.Is(err, library.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if got := exported(t, l); len(got) != 1 {
			t.Errorf("export: %v", got)
		}
		n := 0
		for _, err := range l.Lines(t.Context(), shop) {
			if n++; err != nil {
				t.Error(err)
			}
		}
		if s := l.State(t.Context()); n != 1 || s.Items != 1 || s.PropertyItems[shop] != 1 {
			t.Errorf("%d lines, state %+v", n, s)
		}
		if f, err := l.Facts(t.Context()); err != nil || f.Properties[shop].Items != 1 {
			t.Errorf("facts: %+v, %v", f, err)
		}
		results := make([]library.Result, 1)
		tag := library.Definition{Property: shop, Tag: &library.TagRule{Items: []item.ID{1, 3}}}
		if err := l.countMissing(t.Context(), []library.Definition{tag}, results); err != nil || results[0].MissingItems != 1 {
			t.Errorf("missing items of a rule: %+v, %v", results, err)
		}
		for _, m := range []library.Mutation{{Delete: true, ID: 1}, {Tag: &item.Tag{Namespace: "vibe", Key: "calm"}, IDs: []item.ID{1}}} {
			if o, err := l.Write(t.Context(), shop, []library.Mutation{m}); err != nil || !errors.Is(o[0].Err, library.ErrNotFound) && !errors.As(o[0].Err, new(*library.UnknownItemsError)) {
				t.Errorf("a change of a deleted item: %+v, %v", o, err)
			}
		}
	}
	again := changed(t, l, start).Next
	mustWrite(t, r[1], library.Mutation{Put: linked})
	mustWrite(t, l, library.Mutation{Put: image(2, "new"), Replace: true})
	if h, err := l.History(t.Context(), shop, 1); err != nil || len(h) != 1 || h[0].Action != library.Created {
		t.Errorf("the history of an item with the id of a deleted one: %+v, %v", h, err)
	}
	if out := changed(t, l, again); !slices.Equal(out.Items, []library.ChangedItem{{ID: 1}, {ID: 2}}) {
		t.Errorf("created again: %+v", out)
	}
	if _, _, err := l.ShortLink(t.Context(), "code"); err != nil || len(exported(t, l)) != 3 {
		t.Errorf("the link of the new item: %v", err)
	}
}

var _ library.Feed = (*Library)(nil)

// trimming returns options with which a library keeps few tombstones, and removes the others immediately.
func trimming(o *Options) {
	o.JournalChanges = 3
	o.rebuild = upkeep.Times{Settle: never, Renew: 50 * time.Millisecond, Expire: 500 * time.Millisecond, Trim: 10 * time.Millisecond}
}

// tombstones returns the number of tombstones of the property, including the note that some were removed.
func tombstones(t *testing.T, l *Library) int64 {
	t.Helper()
	found, err := l.indices.Tombstones(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return found[indicesOf(t, l).Current.Name].Count
}

// TestTrimmedChanges checks that a position is lost if a tombstone after it was removed, and that followers miss no deletion while
// tombstones are removed all the time.
func TestTrimmedChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	transport.intercept(transport.RoundTripper.RoundTrip)
	l := openWith(t, dir, time.Now, transport)
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	var deletions []library.Mutation
	for id := range item.ID(10) {
		mustWrite(t, l, library.Mutation{Put: image(id+1, "")})
		deletions = append(deletions, library.Mutation{Delete: true, ID: id + 1})
	}
	start := changed(t, l, "").Next
	mustWrite(t, l, deletions[:9]...)
	before, all := changed(t, l, start).Next, tombstones(t, l)
	var trimmer *Library
	defer func() { trimmer.Close() }()
	// The tombstones are removed after the library has looked up what it must find, and before it searches.
	var once sync.Once
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.RawQuery, "_only_nodes") {
			once.Do(func() {
				trimmer = openOptions(t, dir, trimming)
				eventually(t, "tombstones are removed", func() bool { return tombstones(t, trimmer) == 4 })
			})
		}
		return transport.RoundTripper.RoundTrip(r)
	})
	out := changed(t, l, start)
	if !out.Lost || len(out.Items) > 0 || all != 9 {
		t.Errorf("after the first of %d tombstones was removed: %+v, want Lost", all, out)
	}
	if again := changed(t, l, out.Next); again.Lost || len(again.Items) > 0 {
		t.Errorf("after the new position: %+v", again)
	}
	mustWrite(t, l, deletions[9])
	if last := changed(t, l, before); last.Lost || !slices.Equal(last.Items, []library.ChangedItem{{ID: 10}}) {
		t.Errorf("after a position of which only later tombstones exist: %+v", last)
	}
	if s := l.State(t.Context()); s.Items != 0 {
		t.Errorf("%d items, want none", s.Items)
	}
	mustWrite(t, l, library.Mutation{Put: image(1, "again")}, library.Mutation{Put: image(10, "again")})
	waitServed(t, trimmer)
	var writes []func(context.Context) error
	r := []*Library{l, trimmer}
	for i := range 4 {
		writes = append(writes, func(ctx context.Context) error { return randomWrites(ctx, r[i%2], 40, 40) })
	}
	followWhile(t, r, true, writes...)
}

// TestOldTombstones checks that tombstones are removed when they are older than Options.JournalAge, and not before.
func TestOldTombstones(t *testing.T) {
	t.Parallel()
	var hours atomic.Int64
	l := openOptions(t, t.TempDir(), func(o *Options) {
		trimming(o)
		o.JournalChanges, o.JournalAge = 0, 24*time.Hour
		o.Clock = func() time.Time { return noon.Add(time.Duration(hours.Load()) * time.Hour) }
	})
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	mustWrite(t, l, library.Mutation{Put: image(1, "")}, library.Mutation{Put: image(2, "")})
	start := changed(t, l, "").Next
	mustWrite(t, l, library.Mutation{Delete: true, ID: 1})
	hours.Store(23)
	mustWrite(t, l, library.Mutation{Delete: true, ID: 2})
	if out := changed(t, l, start); len(out.Items) != 2 {
		t.Errorf("after 23 hours: %+v", out)
	}
	hours.Store(25)
	eventually(t, "the first tombstone is removed", func() bool { return changed(t, l, start).Lost && tombstones(t, l) == 2 })
	last := changed(t, l, "").Next
	hours.Store(49)
	eventually(t, "the second tombstone is removed", func() bool { return tombstones(t, l) == 1 })
	end, err := l.End(t.Context(), shop)
	number := func(p library.Position) uint64 {
		n, err := strconv.ParseUint(strings.TrimPrefix(string(p), end.Journal+"-"), 10, 64)
		if err != nil {
			t.Errorf("a position of another journal than %s: %s", end.Journal, p)
		}
		return n
	}
	if err != nil || end.First < number(last) || end.First > end.Last || changed(t, l, library.Position(fmt.Sprintf("%s-%d", end.Journal, end.First))).Lost {
		t.Errorf("the end %+v, want it after the removed deletion before %s: %v", end, last, err)
	}
}

// TestChangesAreLost checks that a position of another index, of another history, or of no library is lost.
func TestChangesAreLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, time.Now)
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	mustWrite(t, l, library.Mutation{Put: image(1, "beach")}, library.Mutation{Put: image(2, "beach")})
	start := changed(t, l, "").Next
	mustWrite(t, l, library.Mutation{Delete: true, ID: 1})
	history := start[:strings.LastIndexByte(string(start), '-')]
	for _, p := range []library.Position{"x", "other-1", history + "-1000", history + "--1", history} {
		if out := changed(t, l, p); !out.Lost || len(out.Items) > 0 || len(out.Next) > 64 || out.Next == "" {
			t.Errorf("%s: %+v, want Lost", p, out)
		}
	}
	after := upgraded(t, dir, 1, nil)
	defer after.Close()
	waitRebuilt(t, after)
	out := changed(t, after, start)
	if !out.Lost {
		t.Errorf("after a rebuild: %+v, want Lost", out)
	}
	if again := changed(t, after, out.Next); again.Lost || len(again.Items) > 0 {
		t.Errorf("after the new position: %+v", again)
	}
	if _, err := l.Changes(t.Context(), library.ChangesRead{Property: shop, After: start, Limit: 1}); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a replica of the previous version: %v, want ErrUnavailable", err)
	}
	if n := tombstones(t, after); n != 0 {
		t.Errorf("the rebuild has copied %d tombstones", n)
	}
	start = changed(t, after, "").Next
	mustWrite(t, after, library.Mutation{Put: image(1, "new")}, library.Mutation{Delete: true, ID: 2})
	if out := changed(t, after, start); !slices.Equal(out.Items, []library.ChangedItem{{ID: 1}, {ID: 2}}) {
		t.Errorf("in the rebuilt index: %+v", out)
	}
}

// TestPrivateChanges checks that a change is private if nothing public has changed since the position, even if the item has changed several
// times, and that a write without an effect is no change.
func TestPrivateChanges(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	id := mustWrite(t, l, library.Mutation{Put: image(0, "beach")})[0].ID
	submission := func(n int) library.Mutation {
		it := image(id, "beach")
		it.Submission = fmt.Appendf(nil, `{"n":"%d"}`, n)
		return library.Mutation{Put: it, Replace: true}
	}
	at := []library.Position{changed(t, l, "").Next}
	check := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, p := range at {
			is := "none"
			if out := changed(t, l, p); len(out.Items) == 1 {
				is = map[bool]string{true: "private", false: "public"}[out.Items[0].Private]
			}
			got = append(got, is)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
		at = append(at, changed(t, l, at[len(at)-1]).Next)
	}
	check("at first", "none")
	mustWrite(t, l, submission(1))
	check("a private change", "private", "private")
	mustWrite(t, l, submission(1))
	check("no change", "private", "private", "none")
	mustWrite(t, l, submission(2))
	check("another private change", "private", "private", "private", "private")
	again := submission(2)
	again.Reason = "looked at it"
	mustWrite(t, l, again)
	check("a reason", "private", "private", "private", "private", "none")
	mustWrite(t, l, library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: "calm"}, IDs: []item.ID{id}})
	check("a public change", "public", "public", "public", "public", "public", "public")
	tagged := submission(3)
	tagged.Put.Tags = []item.Tag{{Namespace: "vibe", Key: "calm"}}
	mustWrite(t, l, tagged)
	check("a private change after it", "public", "public", "public", "public", "public", "public", "private")
	mustWrite(t, l, library.Mutation{Delete: true, ID: id})
	check("a deletion", "public", "public", "public", "public", "public", "public", "public", "public")
}

// TestChangesWait checks that a call waits for a change of any replica, that waiting calls share their requests, and that Close ends them.
func TestChangesWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	var requests atomic.Int64
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/_stats/get") || strings.Contains(r.URL.RawQuery, "_only_nodes") {
			requests.Add(1)
		}
		return transport.RoundTripper.RoundTrip(r)
	})
	l := openWith(t, dir, time.Now, transport)
	apply(t, l, agreedDefinitions()[0])
	other := open(t, dir, time.Now)
	defer other.Close()
	waitServed(t, other)
	start := changed(t, l, "").Next
	if out, err := l.Changes(t.Context(), library.ChangesRead{Property: shop, After: start, Limit: 1, Wait: 10 * time.Millisecond}); err != nil || len(out.Items) > 0 || out.Lost {
		t.Errorf("nothing to wait for: %+v, %v", out, err)
	}
	requests.Store(0)
	var waiting sync.WaitGroup
	const callers = 1000
	for range callers {
		waiting.Go(func() {
			out, err := l.Changes(t.Context(), library.ChangesRead{Property: shop, After: start, Limit: 1, Wait: time.Minute})
			if err != nil || len(out.Items) != 1 || out.Items[0].ID != 1 {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
	eventually(t, "some polls", func() bool { return requests.Load() > 4 })
	mustWrite(t, other, library.Mutation{Put: image(1, "")})
	waiting.Wait()
	if n := requests.Load(); n >= callers {
		t.Errorf("%d requests for %d callers", n, callers)
	}
	start = changed(t, l, start).Next
	ctx, cancel := context.WithCancelCause(t.Context())
	own := errors.New("own cause")
	waiting.Go(func() {
		if _, err := l.Changes(ctx, library.ChangesRead{Property: shop, After: start, Limit: 1, Wait: time.Minute}); !errors.Is(err, own) {
			t.Errorf("%v, want the cause of the context", err)
		}
	})
	cancel(own)
	waiting.Wait()
	waiting.Go(func() {
		if _, err := l.Changes(t.Context(), library.ChangesRead{Property: shop, After: start, Limit: 1, Wait: time.Minute}); !errors.Is(err, library.ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
	})
	var once sync.Once
	began := make(chan struct{})
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/_stats/get") {
			once.Do(func() { close(began) })
			<-r.Context().Done()
		}
		return transport.RoundTripper.RoundTrip(r)
	})
	<-began
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	waiting.Wait()
	if _, err := other.Changes(t.Context(), library.ChangesRead{Property: "shop/absent", Limit: 1}); !errors.Is(err, library.ErrNotFound) {
		t.Errorf("another property: %v, want ErrNotFound", err)
	}
}
