package transfer_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
	"github.com/vitrine-dev/vitrine/server/store"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// movable is a library that can be the source of a transfer.
type movable interface {
	library.Library
	Source() transfer.Source
}

// target is a target that the caller must close.
type target interface {
	transfer.Target
	Close() error
}

// place is a directory, or an index prefix in a cluster, in which one library can be stored.
type place struct {
	open   func(t *testing.T) (movable, error)
	target func(t *testing.T) (target, error)
}

// kinds contains a function for each implementation of a library. The function returns a new place.
var kinds = map[string]func(*testing.T) place{
	"engine": func(t *testing.T) place {
		dir := filepath.Join(t.TempDir(), "data")
		return place{
			func(*testing.T) (movable, error) { return opened(engine.Open(engine.Options{Dir: dir, Clock: clock})) },
			func(*testing.T) (target, error) {
				return opened(store.OpenTarget(store.Options{Dir: dir, Clock: clock}))
			},
		}
	},
	"reference": func(t *testing.T) place {
		dir := filepath.Join(t.TempDir(), "data")
		return place{
			func(*testing.T) (movable, error) {
				return opened(reference.Open(reference.Options{Dir: dir, Clock: clock}))
			},
			func(*testing.T) (target, error) {
				return opened(store.OpenTarget(store.Options{Dir: dir, Clock: clock}))
			},
		}
	},
	"opensearch": func(t *testing.T) place {
		o := opensearch.Options{
			URLs: nodetest.URLs(t), Prefix: nodetest.Prefix(t), Clock: clock,
			RefreshInterval: 20 * time.Millisecond, FollowInterval: 20 * time.Millisecond,
		}
		return place{
			func(t *testing.T) (movable, error) { return opened(opensearch.Open(t.Context(), o)) },
			func(t *testing.T) (target, error) { return opened(opensearch.OpenTarget(t.Context(), o)) },
		}
	},
}

// opened returns its arguments. If err is not nil, it returns a nil interface instead of one that contains a nil pointer.
func opened[T any](v T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return v, nil
}

// library opens the library in a place, and closes it at the end of the test.
func (p place) library(t *testing.T) movable {
	t.Helper()
	l, err := p.open(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// copyOf copies a library into a place. It passes the target that wrap returns to transfer.Copy.
func (p place) copyOf(ctx context.Context, t *testing.T, from movable, wrap func(transfer.Target) transfer.Target) (*transfer.Report, error) {
	t.Helper()
	to, err := p.target(t)
	if err != nil {
		t.Fatal(err)
	}
	r, err := transfer.Copy(ctx, from.Source(), wrap(to), func(transfer.Progress) {})
	if closed := to.Close(); closed != nil {
		t.Error(closed)
	}
	return r, err
}

func unchanged(to transfer.Target) transfer.Target { return to }

const (
	shop   library.PropertyID = "shop/default"
	kiosk  library.PropertyID = "shop/kiosk"
	gone   library.PropertyID = "shop/gone"
	purged library.PropertyID = "shop/purged"
	empty  library.PropertyID = "shop/empty"
)

func manifest(kind library.Kind, name string) library.Owner {
	return library.Owner{Install: "cluster", Kind: kind, Namespace: "shop", Name: name}
}

func property(id library.PropertyID) library.Definition {
	return library.Definition{Property: id, Owner: manifest(library.KindProperty, string(id[5:])), PropertySpec: &library.Property{PlatformPageID: 7}}
}

// httpFilter returns a filter that was created over HTTP.
func httpFilter(p library.PropertyID, n int, text string) library.Definition {
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
	return library.Definition{Property: p, Filter: &library.Filter{
		UUID: id, ID: library.IDFromUUID(id), Name: fmt.Sprint("filter ", n), Query: text, Order: "id:asc", Public: n%2 == 0,
	}}
}

func token(p library.PropertyID, name string, values ...byte) library.Definition {
	d := library.Definition{Property: p, Owner: manifest(library.KindToken, name), Created: noon, Token: &library.Token{ReadWrite: true}}
	for _, v := range values {
		d.Token.Values = append(d.Token.Values, library.TokenValue{Digest: sha256.Sum256([]byte{v}), Since: noon, Expires: noon.Add(time.Duration(v) * time.Hour)})
	}
	return d
}

func tagRule(name, selector string, ids ...item.ID) library.Definition {
	return library.Definition{Property: shop, Owner: manifest(library.KindTag, name), Created: noon, Tag: &library.TagRule{
		Tag: item.Tag{Namespace: "marketer_tags", Key: name}, Items: ids, Selector: selector,
	}}
}

func unitRule(name, selector string, byDefault bool) library.Definition {
	return library.Definition{Property: shop, Owner: manifest(library.KindUnit, name), Created: noon, Unit: &library.UnitRule{
		Unit:    item.Unit{ID: library.UnitID(shop, "shop", name), Name: "Shop the " + name, ClickThroughURL: "https://shop.example/" + name},
		Default: byDefault, Selector: selector,
	}}
}

// apply stores definitions, some of which may be refused.
func apply(t *testing.T, l library.Library, defs ...library.Definition) {
	t.Helper()
	if _, err := l.Apply(t.Context(), defs); err != nil {
		t.Fatal(err)
	}
}

// write applies mutations.
func write(t *testing.T, l library.Library, p library.PropertyID, muts ...library.Mutation) []library.Outcome {
	t.Helper()
	outcomes, err := l.Write(t.Context(), p, muts)
	for _, o := range outcomes {
		err = errors.Join(err, o.Err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// line returns the mutation that imports an import line.
func line(t *testing.T, text string) library.Mutation {
	t.Helper()
	parsed, err := item.ParseLine([]byte(text), item.ParseOptions{Now: noon})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return library.Mutation{Put: parsed.Item, Units: parsed.Units}
}

// fill stores data of every kind that a library can hold, in an order that depends on the seed.
func fill(t *testing.T, l library.Library, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	apply(t, l, property(shop), property(kiosk), property(gone), property(purged), property(empty))
	apply(t, l, token(shop, "front", 1, 2), token(kiosk, "display", 3), httpFilter(shop, 1, "text:beach"), httpFilter(shop, 2, "tags:summer"),
		httpFilter(kiosk, 3, "*:*"), httpFilter(gone, 4, "*:*"), httpFilter(purged, 5, "*:*"), tagRule("summer", "text:beach", 3), unitRule("sandals", "text:city", false), unitRule("house", "", true))
	apply(t, l, token(shop, "front", 2, 4)) // value 1 stays claimed
	adopting := library.Definition{Property: shop, Owner: manifest(library.KindFilter, "adopter"), Created: noon, Filter: &library.Filter{
		ID: httpFilter(shop, 1, "").Filter.ID, Name: "adopted", Query: "text:city", Adopt: true,
	}}
	// The tag "second" is refused, because the tag "summer" claims the same key. The filter without a property waits. The tag "older",
	// which is applied last but was created first, takes over the claim of "summer".
	second, waiting, older := tagRule("second", "", 1), httpFilter("shop/none", 6, "*:*"), tagRule("older", "", 2)
	second.Tag.Tag.Key, older.Tag.Tag.Key, older.Created = "summer", "summer", noon.Add(-time.Hour)
	waiting.Owner, waiting.Created = manifest(library.KindFilter, "waiting"), noon
	apply(t, l, adopting, second, waiting)
	apply(t, l, older)
	words := []string{"beach", "city", "winter", "東京", "don't <b>&amp;</b>", "été\u2028line"}
	for _, p := range []library.PropertyID{shop, kiosk, gone, purged} {
		for n := range 40 + r.IntN(20) {
			id := n + 1
			if p == kiosk {
				id = 1_000_000 * (n + 1)
			}
			write(t, l, p, line(t, fmt.Sprintf(`{"id":%d,"approval_status":"%s","created_on":"%s","short_code":"%s",
				"content":{"content_type":"image","text":%q,"original_url":"https://posts.example/%d"},
				"submission":{"email":"user%d@mail.example","field%d":"yes"},"configuration":{"page":%d},
				"tags":{"vibe":[{"key":"%c"}]},"activate_units":[{"id":%d,"name":"Own unit"}]}`,
				id, []string{"app", "rej", "pen"}[n%3], noon.Add(-time.Duration(r.IntN(1000))*time.Hour).Format(time.RFC3339),
				fmt.Sprintf("%s%d", p[5:], id), words[r.IntN(len(words))]+" "+words[r.IntN(len(words))], n, n, n%7, n, 'a'+n%9, 900+n%5)))
		}
		write(t, l, p, library.Mutation{Delete: true, ID: write(t, l, p, line(t, `{"content":{"content_type":"image","text":"deleted"},"tags":{"only":[{"key":"deleted"}]},"submission":{"deleted":"1"}}`))[0].ID})
		first := write(t, l, p, line(t, `{"content":{"content_type":"image","text":"the last one"}}`))[0].ID
		write(t, l, p, library.Mutation{Tag: &item.Tag{Namespace: "marketer_tags", Key: "mapped"}, IDs: []item.ID{first}})
	}
	for _, p := range []library.PropertyID{gone, purged} {
		if n, err := l.Remove(t.Context(), []library.Owner{property(p).Owner}); n != 1 || err != nil {
			t.Fatalf("remove %s: %d, %v", p, n, err)
		}
	}
	if err := l.Purge(t.Context(), purged); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"install": "cluster", "loaded": "true", "store": "a name", "other": ""} {
		if err := l.SetMark(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
}

// answers describes everything that callers see in a library, as lines of text.
func answers(t *testing.T, l library.Library) (all []string) {
	t.Helper()
	say := func(what string, args ...any) { all = append(all, fmt.Sprintf("%s: %+v", what, args)) }
	say("key", l.AuthorKey())
	for _, mark := range []string{"install", "loaded", "store", "other"} {
		value, err := l.Mark(mark)
		say("mark "+mark, value, err)
	}
	owners, err := l.Owners(t.Context(), library.Scope{Install: "cluster", Kinds: []library.Kind{1, 2, 3, 4, 5}})
	say("owners", owners, err)
	for _, o := range owners {
		d, err := l.Definition(t.Context(), o)
		value, encodeErr := library.EncodeDefinition(d)
		say("definition of "+o.String(), string(value), err, encodeErr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var tokens []string
	for e, err := range l.Tokens(ctx) {
		if err != nil || e.Synced {
			break
		}
		tokens = append(tokens, fmt.Sprintf("%+v", e)[:60], fmt.Sprintf("%+v", *e.Token))
	}
	slices.Sort(tokens)
	for i := range tokens {
		if i%2 == 1 {
			say("token", tokens[i])
		}
	}
	say("properties", l.Properties())
	state := l.State(t.Context())
	say("state", state.Items, state.Definitions, state.PropertyItems)
	for _, p := range []library.PropertyID{shop, kiosk, gone, purged, empty} {
		settings, err := l.Property(p)
		say("settings", settings, err)
		filters, n, err := l.Filters(p, 0, 0)
		for _, f := range filters {
			say("filter", fmt.Sprintf("%+v", f))
			page, err := l.Read(t.Context(), library.Read{Property: p, Filter: &library.FilterRef{UUID: f.UUID}, Limit: 100, BaseURL: "https://b.example"})
			if err == nil {
				say("filter page", page.Total, page.Expires, string(page.Items))
			}
		}
		say("filters", n, err)
		units, err := l.Units(p)
		say("units", units, err)
		for _, tag := range []item.Tag{{Namespace: "only", Key: "deleted"}, {Namespace: "vibe", Key: "d"}, {Namespace: "marketer_tags", Key: "summer"}, {Namespace: "vibe", Key: "never"}} {
			has, err := l.HasTag(p, tag)
			say(fmt.Sprint("tag ", tag), has, err)
		}
		for text, err := range l.Export(t.Context(), p, nil) {
			say("export", string(text), err)
			if err != nil {
				continue
			}
			id, err := item.LineID(text)
			if err != nil {
				t.Fatal(err)
			}
			history, err := l.History(t.Context(), p, id)
			shown, encodeErr := json.Marshal(history)
			say("history", string(shown), err, encodeErr)
		}
		for _, code := range []string{"1", "2", "4", "1000000", "never"} {
			at, url, err := l.ShortLink(t.Context(), string(p[5:])+code)
			say("short link", at, url, err)
		}
		for _, q := range []string{"*:*", "beach", "tags.marketer_tags.key:summer", "submission.field3:yes", "activate_units.id:901", "created_on:[now-20d TO now]", "NOT approval_status:rej", `"the last"`} {
			parsed, err := query.ParseFor(q, query.Private)
			if err != nil {
				t.Fatal(err)
			}
			for _, sort := range []string{"created_on:desc", "approval_status:asc,id:desc", "submission.email:desc", "random"} {
				order, err := query.ParseOrder(sort)
				if err != nil {
					t.Fatal(err)
				}
				r := library.Read{Property: p, Audience: query.Private, Query: parsed.Root, Order: order, Seed: "s", Limit: 15, Now: noon, BaseURL: "https://b.example"}
				for {
					page, err := l.Read(t.Context(), r)
					if err != nil {
						say("read "+q+" by "+sort, err)
						break
					}
					say("read "+q+" by "+sort, page.Total, page.Expires, string(page.Items))
					if r.After = page.Next; r.After == "" {
						break
					}
				}
			}
		}
	}
	return all
}

// continued describes the results of later changes: new ids, the limit of field names, and claimed tokens.
func continued(t *testing.T, l library.Library) (all []string) {
	t.Helper()
	for _, p := range []library.PropertyID{shop, kiosk, empty} {
		o := write(t, l, p, line(t, `{"content":{"content_type":"image","text":"later"},"short_code":"later`+string(p[5:])+`"}`))
		all = append(all, fmt.Sprint(o))
	}
	results, err := l.Apply(t.Context(), []library.Definition{token(kiosk, "thief", 1), property(gone), property(purged), tagRule("summer", "text:winter")})
	for _, r := range results {
		all = append(all, fmt.Sprintf("%t %v", r.Changed, r.Err))
	}
	return append(all, fmt.Sprint(err))
}

// cursors returns reads of second pages, which continue from a cursor of the library.
func cursors(t *testing.T, l library.Library) (reads []library.Read) {
	t.Helper()
	for _, q := range []string{"*:*", "beach", "tags.marketer_tags.key:summer"} {
		parsed, err := query.ParseFor(q, query.Private)
		if err != nil {
			t.Fatal(err)
		}
		for _, sort := range []string{"created_on:desc", "approval_status:asc", "submission.email:desc,id:asc", "default_activate_unit.id:asc", "random", "_score:desc"} {
			order, err := query.ParseOrder(sort)
			if err != nil {
				t.Fatal(err)
			}
			r := library.Read{Property: shop, Audience: query.Private, Query: parsed.Root, Order: order, Seed: "s", Limit: 3, Now: noon}
			page, err := l.Read(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if r.After = page.Next; r.After != "" {
				reads = append(reads, r)
			}
		}
	}
	return reads
}

// pages returns the items of all pages that the given reads request.
func pages(t *testing.T, l library.Library, reads []library.Read) (items []string) {
	t.Helper()
	for _, r := range reads {
		page, err := l.Read(t.Context(), r)
		if err != nil {
			items = append(items, fmt.Sprintf("%v: %v", r.Order, err))
			continue
		}
		items = append(items, fmt.Sprintf("%v: %s", r.Order, page.Items))
	}
	return items
}
