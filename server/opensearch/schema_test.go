package opensearch

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/upkeep"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestSubmissionsHaveTheirOwnField checks that the index field of public dynamic fields contains no member of a submission, also after a
// rebuild of an index with the first schema, which has all dynamic fields in one field. Before and after the rebuild, queries, sort orders
// and facets of submissions must return the same.
func TestSubmissionsHaveTheirOwnField(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := openOptions(t, dir, func(o *Options) { o.schemas = schema.All()[:1] })
	defer first.Close()
	apply(t, first, agreedDefinitions()[0])
	for _, email := range []string{"jane@one.example", "john@two.example", ""} {
		it := image(0, "beach")
		it.Tags = []item.Tag{{Namespace: "vibe", Key: "calm"}}
		if email != "" {
			it.Submission = fmt.Appendf(nil, `{"email":%q,"city":"Rome ~)"}`, email)
		}
		mustWrite(t, first, library.Mutation{Put: it})
	}
	// With another time to settle, the second library is like a replica of the new version before it rebuilds the index.
	second := openOptions(t, dir, func(o *Options) { o.rebuild = upkeep.Times{Settle: never} })
	defer second.Close()
	want := submissionAnswers(t, first)
	if got := submissionAnswers(t, second); !gocmp.Equal(got, want) || len(want["submission.email:/jane\\@.*/"].IDs) != 1 {
		t.Errorf("with the first schema: %s\n%v", gocmp.Diff(want, got), want)
	}
	if n := submissionTerms(t, second); n != 2 {
		t.Errorf("the first schema has the submissions of %d items in the field of public values, want 2", n)
	}
	third := openOptions(t, dir, func(o *Options) {
		o.rebuild = upkeep.Times{Settle: 1, Check: 20 * time.Millisecond, Retry: 20 * time.Millisecond, Renew: 50 * time.Millisecond, Expire: 500 * time.Millisecond, Keep: searchTime}
	})
	defer third.Close()
	eventually(t, "the rebuild", func() bool {
		g := indicesOf(t, third)
		return g.Current != nil && g.Current.Schema == third.indices.Schemas.Latest() && len(g.All()) == 1 && !third.indices.First.Load()
	})
	for name, l := range map[string]*Library{"the library that rebuilt the index": third, "the library that knows the first schema": second} {
		if diff := gocmp.Diff(want, submissionAnswers(t, l)); diff != "" {
			t.Errorf("after the rebuild, %s: %s", name, diff)
		}
	}
	if n := submissionTerms(t, third); n != 0 {
		t.Errorf("the field of public values contains submissions of %d items", n)
	}
}

// TestHistoriesBeginWithTheirSchema checks that an index with an earlier schema, whose mapping has no field for histories, accepts writes
// and has empty histories.
func TestHistoriesBeginWithTheirSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	earlier := openOptions(t, dir, func(o *Options) { o.schemas = schema.All()[:2] })
	defer earlier.Close()
	apply(t, earlier, agreedDefinitions()[0])
	now := openOptions(t, dir, func(o *Options) { o.rebuild = upkeep.Times{Settle: never} })
	defer now.Close()
	for _, l := range []*Library{earlier, now} {
		id := mustWrite(t, l, library.Mutation{Put: image(0, "beach")})[0].ID
		mustWrite(t, l, library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: "calm"}, IDs: []item.ID{id}})
		if h, err := l.History(t.Context(), shop, id); err != nil || len(h) != 0 {
			t.Errorf("the history of item %d: %+v, %v", id, h, err)
		}
	}
}

// TestLastModifiedBeginsWithItsSchema checks the times of the last change of items whose index has an earlier schema. Queries and orders must
// not fail. After a rebuild, an item that an earlier version stored has its created_on instead, and an item that was written since has its
// own time.
func TestLastModifiedBeginsWithItsSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	earlier := openOptions(t, dir, func(o *Options) { o.schemas = schema.All()[:3] })
	defer earlier.Close()
	apply(t, earlier, agreedDefinitions()[0])
	old := image(1, "beach")
	old.CreatedOn = "2020-01-01T00:00:00Z"
	mustWrite(t, earlier, library.Mutation{Put: old})
	stripTimes(t, earlier, 1)
	now := openOptions(t, dir, func(o *Options) { o.rebuild = upkeep.Times{Settle: never} })
	defer now.Close()
	mustWrite(t, now, library.Mutation{Put: image(2, "beach")})
	found := func(l *Library, q string) []item.ID {
		t.Helper()
		parsed, err := query.Parse(q)
		if err != nil {
			t.Fatal(err)
		}
		sort, err := query.ParseOrder("last_modified:asc,id:desc")
		if err != nil {
			t.Fatal(err)
		}
		page, err := l.Read(t.Context(), library.Read{Property: shop, Query: parsed.Root, Audience: query.Private, Order: sort, Limit: 10, OnlyIDs: true})
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		return page.IDs
	}
	if all, some := found(now, "*:*"), found(now, "last_modified:*"); !slices.Equal(all, []item.ID{2, 1}) || len(some) > 0 {
		t.Errorf("before the rebuild: %v, and with a time: %v", all, some)
	}
	rebuilding := openOptions(t, dir, func(o *Options) {
		o.rebuild = upkeep.Times{Settle: 1, Check: 20 * time.Millisecond, Retry: 20 * time.Millisecond, Renew: 50 * time.Millisecond, Expire: 500 * time.Millisecond, Keep: searchTime}
	})
	defer rebuilding.Close()
	eventually(t, "the rebuild", func() bool {
		g := indicesOf(t, rebuilding)
		return g.Current != nil && g.Current.Schema == rebuilding.indices.Schemas.Latest() && len(g.All()) == 1
	})
	if all, first, second := found(now, "last_modified:*"), found(now, `last_modified:"2020-01-01T00:00:00Z"`), found(now, "last_modified:[now-1h TO now]"); !slices.Equal(all, []item.ID{1, 2}) ||
		!slices.Equal(first, []item.ID{1}) || !slices.Equal(second, []item.ID{2}) {
		t.Errorf("after the rebuild: %v, %v, %v", all, first, second)
	}
}

// stripTimes removes the times of the last change from the stored text of an item, as if a version without these times had written it.
func stripTimes(t *testing.T, l *Library, id item.ID) {
	t.Helper()
	index, err := l.indices.Writable(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := l.indices.Load(t.Context(), index.Writes(), []item.ID{id}, schema.FieldItem)
	if err != nil {
		t.Fatal(err)
	}
	it, err := stored[id].Item()
	if err != nil {
		t.Fatal(err)
	}
	it.LastModified = ""
	line := item.Marshal(it, nil)
	if strings.Contains(string(line), "last_modified") {
		t.Fatalf("the line has a time: %s", line)
	}
	op := cluster.Operation{
		Index: index.Writes(), ID: fmt.Sprint(id), At: &stored[id].Version,
		Doc: l.indices.Schemas.Document(index.Schema, it, func() []byte { return line }, schema.Trace{}),
	}
	if err := cluster.FirstError(l.cluster.Bulk(t.Context(), []cluster.Operation{op}, cluster.RefreshNow)); err != nil {
		t.Fatal(err)
	}
}

// submissionAnswer is what a library returns for a query.
type submissionAnswer struct {
	IDs    []item.ID
	Facets []library.FacetValue
}

// submissionAnswers returns the answers to queries about submissions.
func submissionAnswers(t *testing.T, l *Library) map[string]submissionAnswer {
	t.Helper()
	answers := map[string]submissionAnswer{}
	for _, text := range []string{
		`*:*`, `submission.email:/jane\@.*/`, `submission.email:j*`, `submission.email:?ohn*`, `submission.email:"john@two.example"`,
		`submission.email:[jo TO *]`, `submission.email:john\@two.exampel~1`, `submission.city:/rome \~\)/`, `submission.\*:*ome*`, `submission.\*:"john@two.example"`,
		`-submission.email:j*`, `tags.vibe.key:/.*/`, `_exists_:submission.city`,
	} {
		parsed, err := query.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		sort, err := query.ParseOrder("submission.email:desc")
		if err != nil {
			t.Fatal(err)
		}
		read := library.Read{Property: shop, Query: parsed.Root, Audience: query.Private, Order: sort, Limit: 10, OnlyIDs: true}
		page, err := l.Read(t.Context(), read)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		read.Order, read.Limit, read.OnlyIDs = nil, 0, false
		facets, err := l.Facets(t.Context(), read, library.Facet{Field: "submission.email", Limit: 10})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		answers[text] = submissionAnswer{page.IDs, facets.Values}
	}
	return answers
}

// submissionTerms returns the number of items whose submissions are in the field of public values.
func submissionTerms(t *testing.T, l *Library) int {
	t.Helper()
	var found cluster.Count
	body := object{"query": object{"prefix": object{schema.FieldDynamic: "submission."}}}
	if err := l.cluster.Do(t.Context(), http.MethodPost, "/"+l.names.Items(shop)+"/_count", body, &found); err != nil {
		t.Fatal(err)
	}
	return int(*found.Count)
}
