package engine

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
)

var (
	metamorphicFor  = flag.Duration("metamorphic.for", 8*time.Second, "how long to search for a difference between the engine and the reference")
	metamorphicSeed = flag.Uint64("metamorphic.seed", 0, "the seed of a single run (0: as many runs as fit, with seeds from the current time on)")
)

// TestMetamorphic performs the same random operations on the reference and on two engines. Sometimes it closes and reopens an engine, or
// simulates a crash of the engine that has a simulated disk. All libraries must always return the same results.
func TestMetamorphic(t *testing.T) {
	if *metamorphicSeed != 0 {
		newTrial(t, *metamorphicSeed).run(400)
		return
	}
	seed := uint64(time.Now().UnixNano())
	for began := time.Now(); time.Since(began) < *metamorphicFor && !t.Failed(); seed++ {
		t.Logf("-metamorphic.seed=%d", seed)
		newTrial(t, seed).run(150)
	}
}

// trial is one run of the test with one seed.
type trial struct {
	*testing.T
	*rand.Rand
	clock *librarytest.Clock
	// reference is the library with which the engines are compared.
	reference library.Library
	engines   []*subject
	// codes is the number of short codes created so far. ids lists the IDs of all items that were ever created.
	codes int
	ids   []item.ID
	// filters lists all filters that were ever created.
	filters []library.FilterRef
	step    int
	// shown holds the items of each page that an engine returned. The key contains the request and the version.
	shown map[string]string
}

// subject is an engine under test.
type subject struct {
	*Library
	name string
	// disk is nil for the file system of the operating system.
	disk    *vfs.MemFS
	options Options
}

const trialShop library.PropertyID = "shop/default"

func newTrial(t *testing.T, seed uint64) *trial {
	r := &trial{
		T: t, Rand: rand.New(rand.NewPCG(seed, 7)), clock: librarytest.NewClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)),
		shown: map[string]string{},
	}
	ref, err := reference.Open(reference.Options{Dir: t.TempDir(), Clock: r.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	r.reference = ref
	small := Options{sealDocs: 2 + r.IntN(12), memoryParts: 1 + r.IntN(4), fanIn: 2 + r.IntN(2), maxDocs: 24 + r.IntN(40)}
	if r.IntN(2) == 0 {
		small.rankedHits = 1 + r.IntN(12)
	}
	if r.IntN(3) == 0 {
		small.CacheBytes, small.shelfFrom = 1+r.Int64N(20_000), r.Int64N(200)
	}
	for _, s := range []*subject{{name: "engine", options: small}, {name: "reopened engine", options: small, disk: madeDisk(t)}} {
		s.options.Clock = r.clock.Now
		s.options.Dir = "/store"
		if s.disk == nil {
			s.options.Dir = t.TempDir()
		}
		r.engines = append(r.engines, s)
		r.open(s)
	}
	t.Cleanup(func() {
		for _, l := range r.all() {
			if err := l.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	})
	return r
}

// madeDisk returns a disk with a directory for a store.
func madeDisk(t *testing.T) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	if err := disk.MkdirAll("/store", 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := disk.OpenDir("/")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(root.Sync(), root.Close()); err != nil {
		t.Fatal(err)
	}
	return disk
}

func (r *trial) open(s *subject) {
	r.Helper()
	if s.disk != nil {
		s.options.fs = s.disk
	}
	l, err := Open(s.options)
	if err != nil {
		r.Fatalf("open the %s: %v", s.name, err)
	}
	s.Library = l
}

// all lists the libraries. The first one is the reference.
func (r *trial) all() []library.Library {
	all := []library.Library{r.reference}
	for _, s := range r.engines {
		all = append(all, s.Library)
	}
	return all
}

func (r *trial) name(i int) string {
	if i == 0 {
		return "reference"
	}
	return r.engines[i-1].name
}

// agree calls ask with each library. It fails if the result of an engine differs from the result of the reference.
func (r *trial) agree(what string, ask func(library.Library) any) {
	r.Helper()
	var want any
	for i, l := range r.all() {
		got := ask(l)
		if i == 0 {
			want = got
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("step %d: %s: the %s differs (-want +got):\n%s", r.step, what, r.name(i), diff)
		}
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// run performs the given number of steps.
func (r *trial) run(steps int) {
	r.Helper()
	r.apply(r.property())
	for r.step = range steps {
		if r.Failed() {
			return
		}
		switch n := r.IntN(40); {
		case n < 16:
			r.write()
		case n < 21:
			r.define()
		case n < 23:
			r.clock.Advance(time.Duration(r.Int64N(int64(r.pick(time.Millisecond, time.Minute, 3*time.Hour, 60*time.Hour)) + 1)))
		case n < 25:
			r.reopen()
		case n == 25 && r.IntN(8) == 0:
			r.purge()
		}
		r.compareReads()
	}
}

func (r *trial) pick(of ...time.Duration) time.Duration { return of[r.IntN(len(of))] }
func (r *trial) choice(of ...string) string             { return of[r.IntN(len(of))] }
func (r *trial) word() string {
	return r.choice("beach", "beech", "sunset", "sun", "city", "summer", "winter", "coffee", "beaches", "été", "夏")
}

// reopen closes an engine or simulates a loss of power, and opens it again.
func (r *trial) reopen() {
	r.Helper()
	s := r.engines[r.IntN(len(r.engines))]
	if s.disk != nil && r.IntN(2) == 0 {
		before := s.Library
		s.disk = s.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: rand.New(rand.NewPCG(r.Uint64(), 1))})
		r.open(s)
		if err := before.Close(); err != nil {
			r.Fatalf("close the engine before the crash: %v", err)
		}
		return
	}
	if err := s.Close(); err != nil {
		r.Fatalf("step %d: close the %s: %v", r.step, s.name, err)
	}
	r.open(s)
}

// purge removes the property, then purges it in most cases, and then creates it again.
func (r *trial) purge() {
	r.Helper()
	p := r.property()
	r.agree("remove the property", func(l library.Library) any {
		n, err := l.Remove(context.Background(), []library.Owner{p.Owner})
		return []any{n, said(err)}
	})
	r.agree("a read of the removed property", func(l library.Library) any {
		_, err := l.Read(context.Background(), library.Read{Property: trialShop, Query: query.All{}, Limit: 3})
		return said(err)
	})
	if r.IntN(2) == 0 {
		r.agree("purge", func(l library.Library) any { return said(l.Purge(context.Background(), trialShop)) })
	} else {
		r.write() // every library rejects the write
	}
	r.apply(p)
}

func (r *trial) apply(defs ...library.Definition) {
	r.Helper()
	r.agree("apply", func(l library.Library) any {
		results, err := l.Apply(context.Background(), defs)
		out := []any{said(err)}
		for _, res := range results {
			out = append(out, res.Changed, said(res.Err), res.MissingItems, fmt.Sprint(res.MissingFirst), fmt.Sprint(res.Displaced))
		}
		return out
	})
}

func (r *trial) owner(kind library.Kind, name string) library.Owner {
	return library.Owner{Install: "cluster", Kind: kind, Namespace: "shop", Name: name}
}

func (r *trial) property() library.Definition {
	return library.Definition{
		Property: trialShop, Owner: r.owner(library.KindProperty, "default"), Created: r.clock.Now(),
		PropertySpec: &library.Property{PlatformPageID: library.PlatformPageID(trialShop)},
	}
}

// define changes definitions.
func (r *trial) define() {
	r.Helper()
	var defs []library.Definition
	for range 1 + r.IntN(3) {
		name := r.choice("one", "two", "three")
		d := library.Definition{Property: trialShop, Created: r.clock.Now().Add(-time.Hour)}
		switch r.IntN(6) {
		case 0, 1:
			d.Owner = r.owner(library.KindTag, name)
			d.Tag = &library.TagRule{
				Tag: item.Tag{Namespace: r.choice("marketer_tags", "vibe"), Key: r.choice("summer", "hero", name)}, Items: r.some(4),
				Selector: r.selector(r.tagSelector()),
			}
		case 2, 3:
			d.Owner = r.owner(library.KindUnit, name)
			d.Unit = &library.UnitRule{Unit: r.unit(library.UnitID(trialShop, "shop", name)), Items: r.some(4), Default: r.IntN(3) == 0}
			d.Unit.Selector = r.selector(r.choice(r.tagSelector(), "tags.marketer_tags.key:"+r.choice("summer", "hero"), `tags.\*:`+name, "_exists_:tags.vibe"))
		case 4:
			uuid, id := library.FilterIDs(trialShop, library.KindFilter, "shop", name)
			d.Owner, d.Filter = r.owner(library.KindFilter, name), &library.Filter{UUID: uuid, ID: id, Name: name, Query: r.query(1), Order: r.order(false)}
			if r.IntN(3) == 0 {
				d.Filter.Favourite = &item.Tag{Namespace: "marketer_tags", Key: r.choice("hero", "summer")}
			}
			r.filters = append(r.filters, library.FilterRef{UUID: uuid})
		case 5:
			if r.IntN(2) == 0 {
				d.Unit = &library.UnitRule{Unit: r.unit(int64(500 + r.IntN(3)))}
				break
			}
			uuid, id := library.FilterIDs("http/made", library.KindFilter, "http", name)
			d.Filter = &library.Filter{UUID: uuid, ID: id, Name: name, Query: r.query(1), Order: "created_on:desc"}
			r.filters = append(r.filters, library.FilterRef{ID: id})
		}
		defs = append(defs, d)
	}
	if r.IntN(4) == 0 {
		owner := r.owner(r.kind(), r.choice("one", "two", "three"))
		r.agree("remove", func(l library.Library) any {
			n, err := l.Remove(context.Background(), []library.Owner{owner})
			return []any{n, said(err)}
		})
		return
	}
	r.apply(defs...)
}

func (r *trial) kind() library.Kind {
	return []library.Kind{library.KindTag, library.KindUnit, library.KindFilter}[r.IntN(3)]
}

func (r *trial) selector(s string) string {
	if r.IntN(4) == 0 {
		return ""
	}
	return s
}

func (r *trial) tagSelector() string {
	return r.choice(r.word(), r.word()+"~", "created_on:[now-1d TO now]", "created_on:[* TO now-2h]", "approval_status:app AND "+r.word(),
		`submission.\*:yes`, "NOT text:"+r.word(), "_exists_:submission", "campaign:>2", "*:*", `text:"sunset beach"~3`)
}

func (r *trial) unit(id int64) item.Unit {
	return item.Unit{
		ID: id, Name: r.word() + " " + r.word(), Archived: r.IntN(4) == 0, ImageURL: "https://cdn.example/" + r.word() + ".png",
		ClickThroughURL: "https://shop.example/u", CreatedOn: r.date(), LastModified: "2026-11-01T00:00:00Z",
	}
}

func (r *trial) date() string {
	return r.clock.Now().Add(time.Duration(r.Int64N(int64(8*24*time.Hour))) - 6*24*time.Hour).Truncate(r.pick(time.Second, time.Hour, 24*time.Hour)).Format(time.RFC3339)
}

// some returns at most n random IDs. Most of them are IDs of existing items.
func (r *trial) some(n int) []item.ID {
	var ids []item.ID
	for range r.IntN(n + 1) {
		ids = append(ids, r.id())
	}
	return ids
}

func (r *trial) id() item.ID {
	if len(r.ids) == 0 || r.IntN(20) == 0 {
		return item.ID(1 + r.IntN(60))
	}
	return r.ids[r.IntN(len(r.ids))]
}

func (r *trial) item(id item.ID) *item.Item {
	r.codes++
	it := &item.Item{
		ID: id, ApprovalStatus: r.choice(item.Approved, item.Approved, item.Pending, item.Rejected), CreatedOn: r.date(),
		Featured: r.IntN(3) == 0, ShortCode: fmt.Sprintf("code%d", r.codes),
		Content: item.Content{
			ContentType: r.choice(item.Image, item.Video, item.Text), Text: strings.Join([]string{r.word(), r.word(), r.word(), r.word()}[:r.IntN(5)], " "),
			SocialPlatform: r.choice("", "twitter", "instagram"), OriginalURL: fmt.Sprintf("https://posts.example/%d", r.codes),
		},
	}
	if r.IntN(6) == 0 {
		it.CreatedOn = ""
	}
	if r.IntN(4) == 0 {
		it.LastModified = r.date()
	}
	if r.IntN(3) > 0 {
		campaign := int64(r.IntN(5))
		it.Campaign = &campaign
	}
	if r.IntN(2) == 0 {
		it.Content.Author = &item.Author{Username: r.word(), ProfileName: r.word() + " " + r.word()}
	}
	if r.IntN(3) == 0 {
		it.Content.Geo = &item.Geo{Type: "Point", Latitude: float64(r.IntN(7)) - 3.5}
	}
	for range r.IntN(3) {
		t := item.Tag{Namespace: r.choice("marketer_tags", "vibe", "mood"), Key: r.choice("summer", "hero", "bold")}
		if at, has := slices.BinarySearchFunc(it.Tags, t, item.CompareTags); !has {
			it.Tags = slices.Insert(it.Tags, at, t)
		}
	}
	if r.IntN(3) == 0 {
		submission, err := json.Marshal(map[string]string{"email": r.word() + "@mail.example", r.choice("agreed", "age", "size"): r.choice("yes", "7", "42")})
		if err != nil {
			r.Fatal(err)
		}
		it.Submission, it.Claimed = submission, true
	}
	if r.IntN(4) == 0 {
		it.Units = []int64{r.unitID()}
	}
	return it
}

func (r *trial) unitID() int64 {
	if r.IntN(2) == 0 {
		return int64(500 + r.IntN(3))
	}
	return library.UnitID(trialShop, "shop", r.choice("one", "two", "three"))
}

// write changes items.
func (r *trial) write() {
	r.Helper()
	var muts []library.Mutation
	many := 1 + r.IntN(3)
	if r.IntN(8) == 0 {
		many = 20
	}
	for range many {
		var m library.Mutation
		switch n := r.IntN(20); {
		case n < 9:
			m.Put = r.item(0)
		case n < 11:
			m.Put, m.Replace = r.item(r.id()), true
			if r.IntN(3) == 0 {
				m.Units = []item.Unit{r.unit(int64(500 + r.IntN(3)))}
			}
		case n < 13:
			m.Delete, m.ID = true, r.id()
		case n < 16:
			body := r.choice(`{"approval_status":"rej"}`, `{"approval_status":"app"}`, `{"featured":true}`, `{"campaign":3}`, `{"content":{"text":"`+r.word()+`"}}`,
				`{"submission":{"email":"`+r.word()+`"}}`, fmt.Sprintf(`{"activate_units":[%d]}`, r.unitID()), `{"activate_units":[]}`)
			patch, err := item.ParsePatch([]byte(body))
			if err != nil {
				r.Fatal(err)
			}
			m.Patch, m.ID = patch, r.id()
		default:
			t := &item.Tag{Namespace: r.choice("marketer_tags", "vibe"), Key: r.choice("summer", "hero", "one")}
			if m.IDs = []item.ID{r.id(), r.id()}; n < 19 {
				m.Tag = t
			} else {
				m.Untag = t
			}
		}
		muts = append(muts, m)
	}
	r.agree("write", func(l library.Library) any {
		outcomes, err := l.Write(context.Background(), trialShop, muts)
		out := []any{said(err)}
		for _, o := range outcomes {
			out = append(out, o.ID, o.Created, said(o.Err))
		}
		if l == r.reference {
			for _, o := range outcomes {
				if o.Created {
					r.ids = append(r.ids, o.ID)
				}
			}
		}
		return out
	})
}

func (r *trial) clause() string {
	date := func() string { return r.choice("now-1d", "now", "now-3d/d", "2026-11", "*", "2026-11-19", "now+1d") }
	switch r.IntN(18) {
	case 0, 1, 2:
		return r.word()
	case 3:
		return r.word() + "~"
	case 4:
		return `"` + r.word() + " " + r.word() + `"` + r.choice("", "~2")
	case 5:
		return r.choice("bea*", "text:s?n", "/b[ea]+ch/", "author:c*", "*")
	case 6:
		return r.choice("created_on:", "last_modified:") + r.choice("[", "{") + date() + " TO " + date() + r.choice("]", "}")
	case 7:
		return r.choice("approval_status:app", "featured:true", "claimed:false", "social_platform:twitter", "content_type:(image,text)")
	case 8:
		return r.choice("campaign:>1", "campaign:[1 TO 3}", "id:<20", "content.platform_data.geo_data.coordinates.latitude:[-2 TO 1]")
	case 9:
		return r.choice("_exists_", "_missing_") + ":" + r.choice("campaign", "tags", "tags.vibe", "activate_units", "created_on", "last_modified", "submission", "default_activate_unit.name")
	case 10, 11:
		return "tags." + r.choice("marketer_tags", "vibe", "mood") + ":" + r.choice("summer", "hero", "bold", "one", "s*", "heroe~")
	case 12:
		return `tags.\*:` + r.choice("summer", "hero", "one")
	case 13:
		return "activate_units.name:" + r.word() + r.choice("", "~", "*")
	case 14:
		return r.choice("activate_units.id:[500 TO 501]", "activate_units.archived:true", "default_activate_unit.archived:false", "activate_units.created_on:[now-2d TO now]",
			`default_activate_unit.name:`+r.word())
	case 15:
		return r.choice("submission.email:*", `submission.\*:yes`, "submission.age:7", `submission.email:`+r.word()+"*")
	case 16:
		return "text:(" + r.word() + "," + r.word() + ")"
	}
	return "*:*"
}

func (r *trial) query(depth int) string {
	var b strings.Builder
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b.WriteString(r.choice(" ", " AND ", " OR ", " AND NOT "))
		}
		if depth > 0 && r.IntN(4) == 0 {
			b.WriteString("(" + r.query(depth-1) + ")")
		} else {
			b.WriteString(r.clause())
		}
		if r.IntN(6) == 0 {
			b.WriteString(r.choice("^2", "^0.5"))
		}
	}
	return b.String()
}

// order returns a random order. An empty string means that no order is given.
func (r *trial) order(free bool) string {
	orders := []string{
		"", "created_on:desc", "created_on:asc", "campaign:asc", "campaign:desc,id:asc", "id:desc", "social_platform:desc,created_on:asc", "featured:desc",
		"content.platform_data.geo_data.coordinates.latitude:asc", "random", "_score:desc", "author:asc",
		"last_modified:desc", "last_modified:asc,id:desc",
	}
	if free {
		orders = append(orders, "_score:desc,campaign:asc", "campaign:desc,_score:desc", "default_activate_unit.archived:asc", "default_activate_unit.id:desc,id:asc")
	}
	return orders[r.IntN(len(orders))]
}

func (r *trial) parse(q string) query.Node {
	r.Helper()
	parsed, err := query.ParseFor(q, query.Private)
	if err != nil {
		r.Fatalf("parse %q: %v", q, err)
	}
	return parsed.Root
}

func (r *trial) scope(q string) *library.TokenScope {
	r.Helper()
	s, err := library.ParseTokenScope(q)
	if err != nil {
		r.Fatalf("scope %q: %v", q, err)
	}
	return s
}

// listing returns a random read and a description of it.
func (r *trial) listing() (library.Read, string) {
	read := library.Read{Property: trialShop, Audience: query.Audience(r.IntN(2)), Limit: 1 + r.IntN(8), Seed: r.choice("a", "b")}
	var what string
	if len(r.filters) > 0 && r.IntN(2) == 0 {
		ref := r.filters[r.IntN(len(r.filters))]
		read.Filter = &ref
		what = fmt.Sprintf("filter %v", ref)
	} else {
		q := r.query(2)
		read.Query, what = r.parse(q), q
	}
	if r.IntN(4) == 0 {
		q := r.clause()
		read.Where, what = r.parse(q), what+" WHERE "+q
	}
	if r.IntN(4) == 0 {
		q := r.query(1)
		read.Scope, what = r.scope(q), what+" WITHIN "+q
	}
	if by := r.order(true); by != "" && r.IntN(3) > 0 {
		order, err := query.ParseOrder(by)
		if err != nil {
			r.Fatalf("order %q: %v", by, err)
		}
		read.Order, what = order, what+" BY "+by
	}
	if r.IntN(3) == 0 {
		read.Favourite = &item.Tag{Namespace: r.choice("marketer_tags", "vibe"), Key: r.choice("hero", "summer")}
		what += fmt.Sprintf(" FIRST %v", *read.Favourite)
	}
	if r.IntN(12) == 0 {
		read.Now = r.clock.Now().Add(time.Duration(r.Int64N(int64(96*time.Hour))) - 48*time.Hour)
		what += " AT " + read.Now.Format(time.RFC3339Nano)
	}
	return read, what + fmt.Sprintf(" for %d, seed %s", read.Audience, read.Seed)
}

// shownPage is the content of a page. Next reports whether there is a next page.
type shownPage struct {
	Total   int64
	Count   int
	Expires time.Time
	Items   string
	Next    bool
	Err     string
}

func (r *trial) read(l library.Library, what string, read library.Read) (shownPage, library.Cursor) {
	p, err := l.Read(context.Background(), read)
	if err != nil {
		return shownPage{Err: said(err)}, ""
	}
	out := shownPage{Total: p.Total, Count: p.Count, Expires: p.Expires.UTC(), Items: string(p.Items), Next: p.Next != ""}
	if l == r.reference {
		return out, p.Next
	}
	// The content of a page must not change while the version is the same.
	name := fmt.Sprintf("%s %s %d %d %s", what, p.Version, read.Offset, read.Limit, read.After)
	if before, known := r.shown[name]; known && before != out.Items {
		r.Fatalf("step %d: %s: version %s showed\n%s\nand now\n%s", r.step, what, p.Version, before, out.Items)
	}
	r.shown[name] = out.Items
	read.IfVersion = p.Version
	again, err := l.Read(context.Background(), read)
	if !errors.Is(err, library.ErrNotModified) || again.Version != p.Version {
		now := ""
		if again != nil {
			now = again.Version
		}
		r.Fatalf("step %d: %s: version %s again: %v, version %s", r.step, what, p.Version, err, now)
	}
	return out, p.Next
}

// compareReads compares the results of random reads among all libraries.
func (r *trial) compareReads() {
	r.Helper()
	for range 3 {
		read, what := r.listing()
		switch r.IntN(4) {
		case 0:
			read.Offset = r.Int64N(12)
		case 1:
			read.Limit = r.IntN(2) * 500
		}
		r.agree(fmt.Sprintf("%s from %d, %d", what, read.Offset, read.Limit), func(l library.Library) any {
			p, _ := r.read(l, what, read)
			return p
		})
	}
	switch r.IntN(8) {
	case 0:
		r.follow()
	case 7:
		r.scopes()
	case 6:
		r.facets()
	case 1:
		read, what := r.listing()
		id := r.id()
		r.agree(fmt.Sprintf("explain %d in %s", id, what), func(l library.Library) any {
			x, err := l.Explain(context.Background(), read, id)
			return []any{x, said(err)}
		})
	case 2:
		q := r.query(1)
		node := r.parse(q)
		if r.IntN(3) == 0 {
			node = nil
		}
		r.agree("export of "+q, func(l library.Library) any {
			var lines []string
			for line, err := range l.Export(context.Background(), trialShop, node) {
				lines = append(lines, string(line)+said(err))
			}
			return lines
		})
	case 3:
		id := r.id()
		r.agree(fmt.Sprintf("tags of %d", id), func(l library.Library) any {
			tags, err := l.ItemTags(context.Background(), trialShop, id)
			return []any{fmt.Sprint(tags), said(err)}
		})
	case 4:
		code := fmt.Sprintf("code%d", 1+r.IntN(r.codes+1))
		r.agree("short link "+code, func(l library.Library) any {
			p, url, err := l.ShortLink(context.Background(), code)
			return []any{p, url, said(err)}
		})
	case 5:
		r.agree("units, filters and state", func(l library.Library) any {
			units, errUnits := l.Units(trialShop)
			filters, n, errFilters := l.Filters(trialShop, 0, 0)
			s := l.State(context.Background())
			return []any{units, said(errUnits), filters, n, said(errFilters), s.Items, s.Definitions, s.Ready, s.Problem, s.Version}
		})
	}
}

// scopes checks that a read within a scope lists the items that a read without it lists and that match the scope, in the same order, and
// that it counts the values of only these items.
func (r *trial) scopes() {
	r.Helper()
	read, what := r.listing()
	read.Scope, read.Limit = nil, 1000
	q := r.query(1)
	within, matching := read, library.Read{Property: trialShop, Audience: query.Private, Query: r.parse(q), Now: read.Now, Limit: 1000}
	within.Scope = r.scope(q)
	inBoth := library.Read{Property: trialShop, Audience: query.Private, Filter: read.Filter, Query: read.Query, Now: read.Now}
	inBoth.Where = query.And(read.Where, matching.Query)
	one := library.ItemRead{Property: trialShop, ID: r.id(), Audience: query.Private, Scope: within.Scope}
	r.agree(fmt.Sprintf("item %d within %s", one.ID, q), func(l library.Library) any {
		shown, err := l.ReadItem(context.Background(), one)
		return []any{string(shown), said(err)}
	})
	facet := library.Facet{Field: r.choice("tags", "author", "approval_status", "activate_units.id", "submission.email"), Limit: 20}
	r.agree(what+" within "+q, func(l library.Library) any {
		all, _ := r.read(l, what, read)
		matches, _ := r.read(l, q, matching)
		got, _ := r.read(l, what+" within "+q, within)
		if all.Err != "" || matches.Err != "" {
			return got
		}
		want := slices.DeleteFunc(r.shownIDs(all), func(id item.ID) bool { return !slices.Contains(r.shownIDs(matches), id) })
		if ids := r.shownIDs(got); !slices.Equal(ids, want) || got.Total != int64(len(want)) {
			r.Fatalf("step %d: %s within %s shows %v of %d, want %v", r.step, what, q, ids, got.Total, want)
		}
		counted, err := l.Facets(context.Background(), within, facet)
		if within.Audience == query.Public {
			return []any{counted, said(err)}
		}
		same, errSame := l.Facets(context.Background(), inBoth, facet)
		if diff := cmp.Diff(same, counted, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(library.Facets{}, "Expires")); diff != "" || said(err) != said(errSame) {
			r.Fatalf("step %d: %s of %s within %s (-condition +scope, %v, %v):\n%s", r.step, facet.Field, what, q, errSame, err, diff)
		}
		return nil
	})
}

// facets compares the counts of a field's values among all libraries.
func (r *trial) facets() {
	r.Helper()
	read, what := r.listing()
	f := library.Facet{
		Field: r.choice("tags", "tags.marketer_tags", "tags.vibe", "tags.none", "author", "social_platform", "approval_status", "campaign", "id", "featured",
			"content.platform_ref:twitter", "activate_units.id", "activate_units.archived", "activate_units.external_id", "default_activate_unit.id",
			"default_activate_unit.archived", "submission.email", "submission.age", "content.text"),
		Prefix: r.choice("", "", "", "s", "5", "marketer_tags:h", "T"), Limit: r.IntN(12),
	}
	r.agree(fmt.Sprintf("the values of %+v in %s", f, what), func(l library.Library) any {
		found, err := l.Facets(context.Background(), read, f)
		if err != nil {
			return said(err)
		}
		found.Expires = found.Expires.UTC()
		return found
	})
}

// follow reads the pages of a listing, each with the cursor of the page before. In some runs, it changes something between pages. Every
// page must be a contiguous part of the current listing. Without changes, each page must begin directly after the previous page. In a
// listing by relevance, each page must begin directly after the current place of the previous page's last item.
func (r *trial) follow() {
	r.Helper()
	read, what := r.listing()
	read.Limit = 1 + r.IntN(5)
	scored := read.Order.Scored() || read.Order == nil && read.Filter == nil
	after := make([]library.Cursor, len(r.all()))
	busy := r.IntN(2) == 0
	var last item.ID
	end := 0 // the end of the previous page in the listing
	for page := range 12 {
		about := fmt.Sprintf("page %d by cursors of %s by %d", page, what, read.Limit)
		var shown, whole shownPage
		i := 0
		r.agree(about, func(l library.Library) any {
			read := read
			if read.After = after[i]; read.After != "" {
				read.Offset = int64(page * read.Limit) // the library must ignore the offset
			}
			shown, after[i] = r.read(l, what, read)
			i++
			return shown
		})
		r.agree("all of "+what, func(l library.Library) any {
			read := read
			read.Limit = 1000
			whole, _ = r.read(l, what, read)
			return whole
		})
		if shown.Err != "" {
			// A cursor belongs to one listing, and a changed filter is a different listing.
			if page > 0 && read.Filter == nil && whole.Err == "" {
				r.Fatalf("step %d: %s fails: %s", r.step, about, shown.Err)
			}
			return
		}
		got, all := r.shownIDs(shown), r.shownIDs(whole)
		from := len(all)
		if len(got) > 0 {
			from = slices.Index(all, got[0])
		}
		if from < 0 || !slices.Equal(got, all[from:min(from+read.Limit, len(all))]) || shown.Next != (from+len(got) < len(all)) {
			r.Fatalf("step %d: %s shows %v, has a next page: %t; the listing is %v", r.step, about, got, shown.Next, all)
		}
		if !busy && page > 0 && from != end {
			r.Fatalf("step %d: %s shows %v, which does not follow the previous page; the listing is %v", r.step, about, got, all)
		}
		if at := slices.Index(all, last); page > 0 && scored && at >= 0 && at+1 != from {
			r.Fatalf("step %d: %s shows %v, which does not follow item %d; the listing is %v", r.step, about, got, last, all)
		}
		if !shown.Next {
			return
		}
		last, end = got[len(got)-1], from+len(got)
		if !busy {
			continue
		}
		switch r.IntN(6) {
		case 0, 1, 2:
			r.write()
		case 3:
			r.define()
		case 4:
			r.clock.Advance(time.Duration(r.Int64N(int64(40 * time.Second))))
		case 5:
			r.reopen()
		}
	}
}

// shownIDs lists the IDs of the items of a page.
func (r *trial) shownIDs(p shownPage) []item.ID {
	r.Helper()
	var items []struct{ ID item.ID }
	if err := json.Unmarshal([]byte("["+p.Items+"]"), &items); err != nil {
		r.Fatalf("the items of a page are not JSON: %v", err)
	}
	ids := make([]item.ID, len(items))
	for i, it := range items {
		ids[i] = it.ID
	}
	return ids
}
