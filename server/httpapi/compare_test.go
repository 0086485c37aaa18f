package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// compareURL returns the URL of a comparison. params are the names of query parameters, each followed by its value.
func compareURL(params ...string) string {
	v := url.Values{}
	for pair := range slices.Chunk(params, 2) {
		v.Set(pair[0], pair[1])
	}
	return "/v2/content/compare?" + v.Encode()
}

func TestCompare(t *testing.T) {
	a := newApp(t)
	type side struct {
		Total int64
		Items []item.ID
	}
	type outcome struct {
		Before, After     int64
		Entering, Leaving side
		Moving            string
	}
	compare := func(params ...string) outcome {
		t.Helper()
		var c struct {
			Before            *struct{ Total int64 }
			After             struct{ Total int64 }
			Entering, Leaving struct {
				Total int64
				Items []struct{ ID item.ID }
			}
			Moving struct {
				Total int
				Items []struct {
					ID       item.ID
					From, To *int
				}
			}
		}
		got := a.do(call{url: compareURL(params...), token: "rw"})
		if err := json.Unmarshal(got.body, &c); err != nil {
			t.Fatal(err)
		}
		o := outcome{Before: -1, After: c.After.Total, Entering: side{Total: c.Entering.Total}, Leaving: side{Total: c.Leaving.Total}}
		if c.Before != nil {
			o.Before = c.Before.Total
		}
		for _, i := range c.Entering.Items {
			o.Entering.Items = append(o.Entering.Items, i.ID)
		}
		for _, i := range c.Leaving.Items {
			o.Leaving.Items = append(o.Leaving.Items, i.ID)
		}
		var moving []string
		for _, m := range c.Moving.Items {
			text, err := json.Marshal([]any{m.ID, m.From, m.To})
			if err != nil {
				t.Fatal(err)
			}
			moving = append(moving, string(text))
		}
		if o.Moving = strings.Join(moving, " "); c.Moving.Total > len(moving) {
			o.Moving += " …"
		}
		return o
	}
	wall := filterUUID("summer-wall") // approval_status:app AND summer: 1001 1006 1021 1026 1041 1046
	for name, c := range map[string]struct {
		params []string
		want   outcome
	}{
		"a filter and itself": {
			[]string{"from_filter", wall, "q", "approval_status:app AND tags.marketer_tags.key:summer"},
			outcome{Before: 6, After: 6},
		},
		"a filter and a wider query": {
			[]string{"from_filter", wall, "q", "approval_status:(app OR rej) AND tags.marketer_tags.key:summer", "size", "2"},
			outcome{Before: 6, After: 9, Entering: side{3, []item.ID{1051, 1031}}},
		},
		"a filter by its id and a narrower query": {
			[]string{"from_filter", "4242", "q", "approval_status:rej AND id:[1010 TO *]", "sort_by", "id:asc"},
			outcome{Before: 15, After: 13, Leaving: side{2, []item.ID{1003, 1007}}},
		},
		"two disjoint queries": {
			[]string{"from_q", "id:(1001 OR 1002)", "from_sort_by", "id:asc", "q", "id:(1003 OR 1004)", "sort_by", "id:desc"},
			outcome{Before: 2, After: 2, Entering: side{2, []item.ID{1004, 1003}}, Leaving: side{2, []item.ID{1001, 1002}}},
		},
		"another order": {
			[]string{"from_q", "id:[1001 TO 1004]", "from_sort_by", "id:asc", "q", "id:[1001 TO 1004]", "sort_by", "id:desc", "size", "2"},
			outcome{Before: 4, After: 4, Moving: "[1003,3,2] [1002,2,3] …"},
		},
		"an order with the same effect": {
			[]string{"from_q", "id:[1001 TO 1004]", "from_sort_by", "id:asc", "q", "id:[1001 TO 1004]", "sort_by", "created_on:asc"},
			outcome{Before: 4, After: 4},
		},
		"positions count only what both have": {
			[]string{"from_q", "id:[1001 TO 1010]", "from_sort_by", "id:asc", "q", "id:[1003 TO 1012]", "sort_by", "id:asc", "favorite_tag", "hero", "size", "2"},
			outcome{Before: 10, After: 10, Entering: side{2, []item.ID{1011, 1012}}, Leaving: side{2, []item.ID{1001, 1002}}, Moving: "[1007,5,2]"},
		},
		"a favorite tag that no item carries": {
			[]string{"from_q", "id:[1001 TO 1004]", "q", "id:[1001 TO 1004]", "favorite_tag", "nobody"},
			outcome{Before: 4, After: 4},
		},
		"by relevance": {
			[]string{"from_q", "beach OR id:1002", "from_sort_by", "_score:desc", "q", "beach OR id:1002", "sort_by", "_score:desc"},
			outcome{Before: 20, After: 20},
		},
		"a random order has no positions": {
			[]string{"from_q", "id:[1001 TO 1004]", "from_sort_by", "id:asc", "q", "id:[1002 TO 1005]", "sort_by", "random"},
			outcome{Before: 4, After: 4, Entering: side{1, []item.ID{1005}}, Leaving: side{1, []item.ID{1001}}},
		},
		"no items": {
			[]string{"from_q", "id:1001", "q", "id:1002", "size", "0"},
			outcome{Before: 1, After: 1, Entering: side{Total: 1}, Leaving: side{Total: 1}},
		},
		"nothing before": {
			[]string{"q", "id:[1001 TO 1004]", "sort_by", "random", "size", "1"},
			outcome{Before: -1, After: 4, Entering: side{4, []item.ID{1004}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, compare(c.params...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompareParameters(t *testing.T) {
	wall := filterUUID("summer-wall")
	newApp(t).table(t, map[string]call{
		"the sides": {url: compareURL("from_filter", filterUUID("hero-first"), "q", "id:1001", "favorite_tag", "hero"), token: "rw", contains: []string{
			`{"before":{"query":"campaign:12","sort_by":"created_on:desc","favorite_tag":"marketer_tags:hero","total":30},`,
			`"after":{"query":"id:1001","sort_by":"created_on:desc","favorite_tag":"marketer_tags:hero","total":1}`,
			`"_links":{"self":{"href":"/base/v2/content/compare?favorite_tag=hero&`, `"email":`,
		}, lacks: []string{token("rw")}, want: map[string]string{"Cache-Control": "private, no-store"}},
		"private fields":  {url: compareURL("from_filter", filterUUID("secret-order"), "q", "submission.age:[20 TO 30]", "sort_by", "submission.age:asc"), token: "rw"},
		"warning":         {url: compareURL("q", "a AND b OR c"), token: "rw", want: map[string]string{"Warning": "~mixed-operators"}},
		"read-only":       {url: compareURL("q", "id:1001"), token: "ro", status: 403, contains: []string{"problems/class-refused"}},
		"no query":        {url: compareURL("from_filter", wall), token: "rw", status: 400, contains: []string{"problems/missing-parameter", `"parameter":"q"`}},
		"broken query":    {url: compareURL("from_q", "a", "q", "("), token: "rw", status: 400, contains: []string{"problems/syntax-error", `"parameter":"q"`}},
		"broken, before":  {url: compareURL("from_q", "(", "q", "a"), token: "rw", status: 400, contains: []string{`"parameter":"from_q"`}},
		"broken order":    {url: compareURL("from_q", "a", "from_sort_by", "up", "q", "a"), token: "rw", status: 400, contains: []string{`"parameter":"from_sort_by"`}},
		"broken tag":      {url: compareURL("from_q", "a", "from_favorite_tag", "a:", "q", "a"), token: "rw", status: 400, contains: []string{`"parameter":"from_favorite_tag"`}},
		"two sides":       {url: compareURL("from_filter", wall, "from_q", "a", "q", "a"), token: "rw", status: 400, contains: []string{`"parameter":"from_q"`}},
		"unknown filter":  {url: compareURL("from_filter", "17", "q", "a"), token: "rw", status: 404, contains: []string{"problems/not-found"}},
		"size":            {url: compareURL("q", "a", "size", "501"), token: "rw", status: 400, contains: []string{`"parameter":"size"`}},
		"another owner's": {url: compareURL("from_filter", wall, "q", "a"), token: "other-rw", status: 404},
		"an order of a filter": {url: compareURL("from_filter", wall, "from_sort_by", "id:asc", "q", "a"), token: "rw", status: 400, contains: []string{
			`"parameter":"from_sort_by"`, `cannot be combined with \"from_filter\"`,
		}},
		"a tag of a filter": {url: compareURL("from_filter", wall, "from_favorite_tag", "hero", "q", "a"), token: "rw", status: 400, contains: []string{`"parameter":"from_favorite_tag"`}},
	})
}

// TestCompareTheLongestQueries compares two queries that both have the maximum number of clauses.
func TestCompareTheLongestQueries(t *testing.T) {
	if os.Getenv("VITRINE_TEST_LIBRARY") == "opensearch" {
		t.Skip("a cluster limits the clauses of both together")
	}
	or := func(ids string) string { return strings.Repeat("nowhere ", query.MaxClauses-1) + ids }
	newApp(t).do(call{
		url: compareURL("from_q", or("id:[1001 TO 1003]"), "from_sort_by", "id:asc", "q", or("id:[1002 TO 1005]"), "sort_by", "id:desc"), token: "rw",
		contains: []string{`"entering":{"total":2,"items":[{"id":1005,`, `"leaving":{"total":1,"items":[{"id":1001,`, `"items":[{"id":1002,"from":1,"to":2}]`},
	})
}

// TestCompareReads checks the reads of a comparison: all have the same value of `now`, each total is read once, and positions need only
// ids.
func TestCompareReads(t *testing.T) {
	a, h := newHookedApp(t)
	reads := 0
	h.read = func(_ context.Context, r library.Read) (*library.Page, error) {
		if reads++; !r.Now.Equal(began) {
			t.Errorf("a read at %s", r.Now)
		}
		if r.OnlyIDs != (r.Limit == 100) {
			t.Errorf("a read of %d items, only ids: %t", r.Limit, r.OnlyIDs)
		}
		// Return a different total each time, as if concurrent writes changed the number of items.
		return &library.Page{Total: int64(reads), Items: r.Into}, nil
	}
	for name, c := range map[string]struct {
		params   []string
		reads    int
		contains []string
	}{
		"two queries": {[]string{"from_q", "id:1002", "from_sort_by", "id:asc", "q", "id:1001"}, 6, []string{
			`{"before":{"query":"id:1002","sort_by":"id:asc","favorite_tag":null,"total":2},`,
			`"after":{"query":"id:1001","sort_by":"created_on:desc","favorite_tag":null,"total":1},"entering":{"total":3,`,
			`"leaving":{"total":4,`,
		}},
		"two orders": {[]string{"from_q", "id:1001", "q", "id:1001", "sort_by", "id:asc"}, 3, []string{
			`"sort_by":"created_on:desc","favorite_tag":null,"total":1},`,
			`"sort_by":"id:asc","favorite_tag":null,"total":1},"entering":{"total":0,`,
		}},
		"nothing before": {[]string{"q", "id:1001"}, 1, []string{
			`{"after":{"query":"id:1001","sort_by":"created_on:desc","favorite_tag":null,"total":1},"entering":{"total":1,`,
		}},
	} {
		reads = 0
		a.do(call{url: compareURL(c.params...), token: "rw", contains: c.contains})
		if reads != c.reads {
			t.Errorf("%s: %d reads, want %d", name, reads, c.reads)
		}
	}
}

// discard is a ResponseWriter that discards the body.
type discard struct{ http.ResponseWriter }

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// TestCompareMemory checks that a comparison uses little more memory than it reserves.
func TestCompareMemory(t *testing.T) {
	const size = 4 << 20
	a, h := newHookedApp(t, func(o *httpapi.Options) { o.PageMemory = 4 * size })
	items := bytes.Repeat([]byte(" "), size)
	h.read = func(_ context.Context, r library.Read) (*library.Page, error) {
		if r.Limit == 0 || r.OnlyIDs {
			return &library.Page{}, nil
		}
		if err := r.Room(size); err != nil {
			return nil, err
		}
		return &library.Page{Items: append(slices.Grow(r.Into, size), items...)}, nil
	}
	c := call{url: compareURL("from_q", "a", "from_sort_by", "id:asc", "q", "b"), token: "rw"}
	send := func() { a.server.ServeHTTP(discard{httptest.NewRecorder()}, c.request()) }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	send()
	runtime.ReadMemStats(&after)
	// Both lists are in one buffer. If the request finds no buffer to reuse, the buffer grows for each list and for the end of the
	// response. The allocations add up to 5.5 times size.
	if used := after.TotalAlloc - before.TotalAlloc; used > 6*size {
		t.Errorf("two lists of %d bytes take %d bytes", size, used)
	}
	big, bh := newHookedApp(t, func(o *httpapi.Options) { o.PageMemory = 4*size - 2 })
	bh.read = h.read
	big.do(call{url: c.url, token: "rw", status: 400, contains: []string{`"parameter":"size"`, `use a smaller \"size\"`}})
}

func TestMovedBetween(t *testing.T) {
	ids := func(from, to int64, more ...int64) []item.ID {
		for i := from; i <= to; i++ {
			more = append(more, i)
		}
		return more
	}
	for name, c := range map[string]struct {
		was, is []item.ID
		want    string
	}{
		"nothing":            {nil, nil, `[]`},
		"the same":           {ids(1, 5), ids(1, 5), `[]`},
		"one up":             {ids(1, 5), ids(1, 4, 5), `[{"id":5,"from":5,"to":1}]`},
		"one down":           {ids(1, 5), append(ids(2, 5), 1), `[{"id":1,"from":1,"to":5}]`},
		"two exchanged":      {ids(1, 4), []item.ID{1, 3, 2, 4}, `[{"id":2,"from":2,"to":3}]`},
		"from far below":     {ids(1, 5), ids(1, 4, 77), `[{"id":77,"from":null,"to":1}]`},
		"to far below":       {ids(1, 5), ids(2, 6), `[{"id":1,"from":1,"to":null}]`},
		"displaced at end":   {ids(1, 3), []item.ID{1, 77, 2}, `[{"id":77,"from":null,"to":2}]`},
		"two from far below": {ids(1, 4), ids(1, 2, 77, 78), `[{"id":77,"from":null,"to":1},{"id":78,"from":null,"to":2}]`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(httpapi.MovedBetween(c.was, c.is))
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, want %s, %v", got, c.want, err)
			}
		})
	}
}
