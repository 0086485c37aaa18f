package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// facets returns the URL of a request that counts the values of a field.
func facets(field string, more ...string) string {
	return "/v2/content/facets?field=" + url.QueryEscape(field) + strings.Join(append([]string{""}, more...), "&")
}

func TestFacets(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	wall, private := "filter="+filterUUID("summer-wall"), "filter="+filterUUID("private")
	newApp(t).table(t, map[string]call{
		"keyword": {url: facets("approval_status", "q=*:*"), token: "ro", contains: []string{
			`{"field":"approval_status","total":60,"values":[{"value":"app","count":30},{"value":"pen","count":15},{"value":"rej","count":15}],` +
				`"_links":{"self":{"href":"/base/v2/content/facets?field=approval_status&q=%2A%3A%2A"}}}`,
		}},
		"with slash":                     {url: "/v2/content/facets/?field=featured&q=*:*", token: "ro", contains: []string{`"values":[{"value":"false","count":54},{"value":"true","count":6}]`}},
		"short name":                     {url: facets("author", "q=campaign:12", "size=1"), token: "ro", contains: []string{`{"field":"content.author.username","total":30,"values":[{"value":"author0","count":8}]`}},
		"number":                         {url: facets("campaign", "q=*:*"), token: "ro", contains: []string{`[{"value":"12","count":30},{"value":"13","count":30}]`}},
		"tags of items and of manifests": {url: facets("tags", "q=*:*"), token: "ro", contains: []string{`[{"value":"kinds:video","count":20},{"value":"marketer_tags:summer","count":12},{"value":"hashtags:beach_2026","count":7},{"value":"marketer_tags:hero","count":2}]`}},
		"tags prefix":                    {url: facets("tags", "q=*:*", "prefix=marketer_tags:H"), token: "ro", contains: []string{`"values":[{"value":"marketer_tags:hero","count":2}]`}},
		"namespace":                      {url: facets("tags.marketer_tags", "q=id:1003"), token: "ro", contains: []string{`{"field":"tags.marketer_tags.key","total":1,"values":[{"value":"hero","count":1}]`}},
		"units":                          {url: facets("activate_units.external_id", "q=*:*"), token: "ro", contains: []string{`{"value":"sku-1","count":2}`}},
		"no value":                       {url: facets("hashtag.id", "q=id:1001"), token: "ro", contains: []string{`"total":1,"values":[]`}},
		"no item":                        {url: facets("tags", "q=id:99"), token: "ro", contains: []string{`"total":0,"values":[]`}},
		"wildcards":                      {url: facets("author", "q=*:*", "prefix=author*"), token: "ro", contains: []string{`"total":60,"values":[]`}},
		"a blank one":                    {url: facets("campaign", "q=*:*", "prefix=%20", "size=", "filter="), token: "ro", contains: []string{`{"value":"12","count":30}`}},
		"a warning":                      {url: facets("campaign", "q=nowhere:x"), token: "ro", want: map[string]string{"Warning": `~no field \"nowhere\"`}, contains: []string{`"total":0`}},
		"filter":                         {url: facets("approval_status", wall), token: "rw", contains: []string{`"values":[{"value":"app","count":6}]`}},
		"filter number":                  {url: facets("approval_status", fmt.Sprintf("filter=%d", madeID)), token: "rw", contains: []string{`"values":[{"value":"rej","count":15}]`}},
		"filter and q":                   {url: facets("campaign", private, "q=campaign:13"), token: "rw", contains: []string{`"values":[{"value":"13","count":8}]`}},

		"field missing":    {url: "/v2/content/facets?q=*:*", token: "ro", status: 400, contains: []string{"problems/missing-parameter", `"parameter":"field"`}},
		"q missing":        {url: facets("tags"), token: "ro", status: 400, contains: []string{"problems/missing-parameter", `"parameter":"q"`}},
		"q broken":         {url: facets("tags", "q=("), token: "ro", status: 400, contains: []string{"problems/syntax-error", `"parameter":"q"`}},
		"size 0":           {url: facets("tags", "q=*:*", "size=0"), token: "ro", status: 400, contains: []string{`"parameter":"size"`, "from 1 to 100"}},
		"size 101":         {url: facets("tags", "q=*:*", "size=101"), token: "ro", status: 400, contains: []string{`"parameter":"size"`}},
		"size no number":   {url: facets("tags", "q=*:*", "size=ten"), token: "ro", status: 400, contains: []string{`"parameter":"size"`}},
		"size 100":         {url: facets("id", "q=*:*", "size=100"), token: "ro", contains: []string{`{"value":"1060","count":1}`}},
		"text field":       {url: facets("text", "q=*:*"), token: "ro", status: 400, contains: []string{"problems/invalid-parameter", `"parameter":"field"`, "its type is text", "keyword, boolean or long"}},
		"date":             {url: facets("created_on", "q=*:*"), token: "ro", status: 400, contains: []string{"its type is date"}},
		"another name":     {url: facets("platform", "q=*:*"), token: "ro", status: 400, contains: []string{`did you mean \"social_platform\"?`}},
		"unknown field":    {url: facets("campain", "q=*:*"), token: "ro", status: 400, contains: []string{`did you mean \"campaign\"?`}},
		"object":           {url: facets("content", "q=*:*"), token: "ro", status: 400, contains: []string{"it is an object"}},
		"long field":       {url: facets(long, "q=*:*"), token: "ro", status: 400, contains: []string{`"parameter":"field"`}, lacks: []string{long[:200]}},
		"long prefix":      {url: facets("author", "q=*:*", "prefix="+long), token: "ro", contains: []string{`"values":[]`}},
		"twice":            {url: facets("tags", "q=*:*", "field=author"), token: "ro", status: 400, contains: []string{`"parameter":"field"`}},
		"private, ro":      {url: facets("submission.age", "q=*:*"), token: "ro", status: 403, contains: []string{"problems/field-private", `"parameter":"field"`}},
		"private query":    {url: facets("author", "q=submission.age:*"), token: "ro", status: 403, contains: []string{"problems/field-private", `"parameter":"q"`}},
		"private, rw":      {url: facets("submission.age", "q=*:*", "size=1"), token: "rw", contains: []string{`"values":[{"value":"20","count":1}]`}},
		"filter, ro":       {url: facets("author", wall), token: "ro", status: 403, contains: []string{"problems/class-refused", `"parameter":"filter"`}},
		"unknown filter":   {url: facets("author", "filter=17"), token: "rw", status: 404},
		"foreign filter":   {url: facets("author", wall), token: "other-rw", status: 404},
		"foreign items":    {url: facets("approval_status", "q=*:*"), token: "other-ro", contains: []string{`"total":1,`}},
		"head":             {method: "HEAD", url: facets("tags", "q=*:*"), token: "ro"},
		"another method":   {method: "POST", url: facets("tags", "q=*:*"), token: "rw", status: 405, want: map[string]string{"Allow": "GET, HEAD, OPTIONS"}},
		"no token":         {url: facets("tags", "q=*:*"), status: 403},
		"restricted token": {url: facets("tags", "q=*:*"), token: "walled", status: 403, contains: []string{"problems/class-refused"}},
		"cached":           {url: facets("tags", "q=*:*"), token: "ro", want: map[string]string{"Cache-Control": "public, max-age=60, stale-while-revalidate=300, stale-if-error=300"}},
		// Item 1060 is exactly a day old when the test begins. In 30 s, it is too old for the range of the query.
		"cached with an expiry": {url: facets("tags", "q="+url.QueryEscape("created_on:[now-86430s TO *]")), token: "ro", want: map[string]string{"Cache-Control": "~max-age=30,"}},
	})
}

func TestFacetsCountAsFreeQueries(t *testing.T) {
	a, h := newHookedApp(t, func(o *httpapi.Options) { o.QueriesPerToken = 1 })
	h.facets = func(ctx context.Context) error {
		if _, budgeted := ctx.Deadline(); !budgeted {
			return errors.New("no time budget")
		}
		a.do(call{url: facets("tags", "q=id:1002"), token: "ro", status: 429, contains: []string{"problems/too-many-queries"}})
		return library.ErrUnavailable
	}
	a.do(call{url: facets("tags", "q=id:1001"), token: "ro", status: 503, contains: []string{"problems/unavailable"}})
	a.do(call{url: suggestURL("author:|"), token: "ro", status: 503, contains: []string{"problems/unavailable"}})
	h.facets = nil
	a.do(call{url: facets("tags", "q=id:1001"), token: "ro"})
}

// TestFacetsOfEveryField checks that every field is either counted or refused, as documented for its type, and that the query for a counted
// value finds the counted items.
func TestFacetsOfEveryField(t *testing.T) {
	a := newApp(t)
	compared := 0
	for _, f := range append(query.Fields(), query.Field{Name: "tags.marketer_tags.key"}, query.Field{Name: "content.platform_ref:twitter"}) {
		got := a.send(call{url: facets(f.Name, "q=*:*", "size=100"), token: "ro"})
		want := 400
		if slices.Contains([]query.Type{query.Keyword, query.Boolean, query.Long}, f.Type) {
			want = 200
		}
		if f.Private {
			want = 403
		}
		if got.status != want {
			t.Errorf("%s: status %d, want %d", f.Name, got.status, want)
		}
		if got.status != 200 {
			continue
		}
		counted := map[string]float64{}
		for _, v := range got.member(t, "values").([]any) {
			v := v.(map[string]any)
			counted[v["value"].(string)] = v["count"].(float64)
		}
		for _, value := range slices.Sorted(maps.Keys(counted))[:min(3, len(counted))] {
			found := a.do(call{url: q(query.FieldTerm(f.Name, value).String(), "page_size=1"), token: "ro"}).member(t, "total_results").(float64)
			if found != counted[value] {
				t.Errorf("%s: %q is counted %v times, and its query finds %v items", f.Name, value, counted[value], found)
			}
			compared++
		}
	}
	if compared < 30 {
		t.Errorf("%d values were compared", compared)
	}
}
