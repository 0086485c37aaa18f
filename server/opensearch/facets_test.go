package opensearch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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
			a.facets(q, library.Facet{Field: name, Limit: 3, Only: []string{"true", "1", "2", "instagram", "marketer_tags:summer", "none"}})
		}
	}
}

func TestRangesOf(t *testing.T) {
	for prefix, want := range map[string][][2]int64{
		"0": {{0, 0}}, "-": {{math.MinInt64, -1}}, "00": nil, "-0": nil, "": nil, "1x": nil, "+1": nil, "--1": nil, "99999999999999999999": nil,
		"9223372036854775807": {{math.MaxInt64, math.MaxInt64}}, "-9223372036854775808": {{math.MinInt64, math.MinInt64}},
		"92233720368547758":  {{92233720368547758, 92233720368547758}, {922337203685477580, 922337203685477589}, {9223372036854775800, math.MaxInt64}},
		"-92233720368547758": {{-92233720368547758, -92233720368547758}, {-922337203685477589, -922337203685477580}, {math.MinInt64, -9223372036854775800}},
	} {
		if diff := cmp.Diff(want, rangesOf(prefix)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", prefix, diff)
		}
	}
	for _, prefix := range []string{"1", "-1", "37", "-37", "9"} {
		ranges := rangesOf(prefix)
		for range 1000 {
			n := rand.Int64N(math.MaxInt64) >> rand.IntN(63)
			if rand.IntN(2) == 0 {
				n = -n
			}
			in := slices.ContainsFunc(ranges, func(r [2]int64) bool { return r[0] <= n && n <= r[1] })
			if want := strings.HasPrefix(strconv.FormatInt(n, 10), prefix); in != want {
				t.Errorf("%d is in the ranges of %q: %t", n, prefix, in)
			}
		}
	}
}

// TestFacetsOfNumbersWithAPrefix checks that one search counts the numbers with a prefix, regardless of how many other numbers exist.
func TestFacetsOfNumbersWithAPrefix(t *testing.T) {
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	l := openWith(t, t.TempDir(), time.Now, transport)
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	var muts []library.Mutation
	for id := int64(100); id < 400; id++ {
		muts = append(muts, library.Mutation{Put: image(id, "a")})
	}
	mustWrite(t, l, muts...)
	var searches atomic.Int64
	items := "/" + l.names.Items(shop) + "/_search"
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == items {
			searches.Add(1)
		}
		return transport.RoundTripper.RoundTrip(r)
	})
	found, err := l.Facets(t.Context(), library.Read{Property: shop, Query: query.All{}}, library.Facet{Field: "id", Prefix: "39", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if found.Total != 300 || len(found.Values) != 10 || found.Values[0].Value != "390" || searches.Load() != 1 {
		t.Errorf("%d searches found %d values of %d items, the first are %v", searches.Load(), len(found.Values), found.Total, found.Values[:1])
	}
}

// TestFacetsOfManyRules compares facets of a property that has more rules than one search can count, so that the terms are read in pages.
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

// TestFacetsOfSlices checks that facets equal those of the reference library even if many segments are searched in concurrent slices. In
// this case, a terms aggregation is only approximate.
func TestFacetsOfSlices(t *testing.T) {
	a := newAgreed(t, openReference)
	l := a.cluster.(*Library)
	err := l.cluster.Do(t.Context(), http.MethodPut, "/"+l.names.Items(shop)+"/_settings", object{
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
	for _, name := range []string{"author", "campaign", "id", "tags", "tags.hashtags", "approval_status"} {
		for _, limit := range []int{1, 5, 100} {
			a.facets("*:*", library.Facet{Field: name, Limit: limit})
			a.facets("approval_status:app", library.Facet{Field: name, Limit: limit, Prefix: "1"})
		}
	}
}
