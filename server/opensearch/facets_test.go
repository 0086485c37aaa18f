package opensearch

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
)

func openReference(dir string, clock func() time.Time) (library.Library, error) {
	return reference.Open(reference.Options{Dir: dir, Clock: clock})
}

// facets compares the values of a field with those of the judge.
func (a *agreed) facets(q string, f library.Facet) {
	a.t.Helper()
	parsed, err := query.Parse(q)
	if err != nil {
		a.t.Fatal(err)
	}
	var got [2]*library.Facets
	for i, l := range a.both() {
		if got[i], err = l.Facets(a.t.Context(), library.Read{Property: shop, Audience: query.Private, Query: parsed.Root}, f); err != nil {
			a.t.Fatalf("%+v of %s: %v", f, q, err)
		}
		got[i].Expires = got[i].Expires.UTC()
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		a.t.Errorf("%+v of %s (-other +cluster):\n%s", f, q, diff)
	}
}

func (a *agreed) write(muts ...library.Mutation) {
	a.t.Helper()
	for _, l := range a.both() {
		if _, err := l.Write(a.t.Context(), shop, muts); err != nil {
			a.t.Fatal(err)
		}
	}
}

func TestFacetsAgree(t *testing.T) {
	a := newAgreed(t, openReference)
	fields := []string{"tags", "tags.marketer_tags", "content.platform_ref:twitter", "submission.note", "submission.email"}
	for _, f := range query.Fields() {
		if _, err := query.Countable(f.Name, query.Private); err == nil {
			fields = append(fields, f.Name)
		}
	}
	for _, q := range []string{"*:*", "beach OR city", "tags.marketer_tags:summer", "created_on:[now-7d TO now]", "id:99"} {
		for _, name := range fields {
			for _, limit := range []int{0, 1, 3, 100} {
				a.facets(q, library.Facet{Field: name, Limit: limit})
			}
			a.facets(q, library.Facet{Field: name, Limit: 3, Prefix: "9"})
			a.facets(q, library.Facet{Field: name, Limit: 3, Prefix: "S"})
		}
	}
}

// TestFacetsOfManyRules has more rules than one search counts, so that the terms are read in pages.
func TestFacetsOfManyRules(t *testing.T) {
	a := newAgreed(t, openReference)
	var defs []library.Definition
	for i := range queriesAtOnce + 10 {
		key := fmt.Sprintf("%c%c%c", 'a'+i/26/26, 'a'+i/26%26, 'a'+i%26)
		defs = append(defs, library.Definition{
			Property: shop, Owner: manifest(library.KindTag, key), Created: noon,
			Tag: &library.TagRule{Tag: item.Tag{Namespace: "marketer_tags", Key: key}, Items: []item.ID{int64(i%40 + 1), int64(i%7 + 1)}},
		})
	}
	for _, l := range a.both() {
		if _, err := l.Apply(t.Context(), defs); err != nil {
			t.Fatal(err)
		}
	}
	a.facets("*:*", library.Facet{Field: "tags.marketer_tags", Limit: 100})
	a.facets("beach", library.Facet{Field: "tags", Limit: 100})
	a.facets("beach", library.Facet{Field: "tags", Prefix: "vibe:", Limit: 100})
}

// TestFacetsOfSlices searches many segments in concurrent slices, in which a terms aggregation is only approximate.
func TestFacetsOfSlices(t *testing.T) {
	a := newAgreed(t, openReference)
	l := a.cluster.(*Library)
	err := l.cluster.do(t.Context(), http.MethodPut, "/"+l.names.items(shop)+"/_settings", object{
		"index.search.concurrent_segment_search.mode": "all", "index.search.concurrent.max_slice_count": 4,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		var muts []library.Mutation
		for range 150 {
			n := r.Int64N(400)
			muts = append(muts, library.Mutation{Put: &item.Item{
				ID: 1000 + r.Int64N(1<<40), ApprovalStatus: item.Approved, Campaign: &n, CreatedOn: "2026-11-20T08:00:00Z",
				Content: item.Content{ContentType: item.Image, Author: &item.Author{Username: fmt.Sprintf("user%d", n)}},
				Tags:    []item.Tag{{Namespace: "hashtags", Key: fmt.Sprintf("h%d", r.IntN(300))}},
			}})
		}
		a.write(muts...)
	}
	for _, name := range []string{"author", "campaign", "tags", "tags.hashtags", "approval_status"} {
		for _, limit := range []int{1, 5, 100} {
			a.facets("*:*", library.Facet{Field: name, Limit: limit})
			a.facets("approval_status:app", library.Facet{Field: name, Limit: limit, Prefix: "1"})
		}
	}
}
