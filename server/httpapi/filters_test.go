package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

func TestFilterLife(t *testing.T) {
	a := newApp(t)
	made := a.do(call{method: "POST", url: "/v2/content/filters", token: "rw", status: 201,
		body:     `{"q":"approval_status:pen AND campaign:13","sort_by":"id:asc","name":"Pending \u00e9t\u00e9 <13>","extra":1}`,
		contains: []string{`"name":"Pending été \u003c13\u003e"`, `"query":"approval_status:pen AND campaign:13"`, `"sort_by":"id:asc"`, `"platform_page_id":4711`, `"is_editable":true`},
		want:     map[string]string{"Content-Type": "application/json", "Cache-Control": "private, no-store"},
	})
	id, _ := made.member(t, "id").(float64)
	uuid, _ := made.member(t, "filter_uuid").(string)
	if want := fmt.Sprintf("/base/v2/content/filters/%.0f", id); made.header.Get("Location") != want {
		t.Errorf("Location %q, want %q", made.header.Get("Location"), want)
	}
	if library.IDFromUUID(uuid) != int64(id) {
		t.Errorf("id %.0f is not derived from %s", id, uuid)
	}
	location := strings.TrimPrefix(made.header.Get("Location"), "/base")
	pending := []item.ID{1032, 1036, 1040, 1044, 1048, 1052, 1056, 1060}
	a.steps(
		call{url: location, token: "rw", ids: pending},
		call{url: "/v2/content/filters/" + uuid, token: "rw", ids: pending},
		call{url: location, token: "ro", status: 403},
		call{method: "PUT", url: "/v2/content/filters?filter_id=" + strings.TrimPrefix(location, "/v2/content/filters/"), token: "rw",
			body: `{"q":"approval_status:rej AND campaign:13","sort_by":"id:desc"}`, status: 204, want: map[string]string{"Location": "/base" + location, "Content-Type": ""}},
		call{url: location + "?page_size=2", token: "rw", ids: []item.ID{1059, 1055}},
		call{url: location + "?info=1", token: "rw", contains: []string{`"name":"Pending été \u003c13\u003e"`, `"query":"approval_status:rej AND campaign:13"`, `"sort_by":"id:desc"`}},
		call{method: "PUT", url: "/v2/content/filters/?filter_id=" + uuid, token: "rw", body: `{"q":"campaign:13","sort_by":"random"}`, status: 204},
		call{method: "DELETE", url: "/v2/content/filters/" + uuid + "/", token: "rw", status: 204},
		call{url: location, token: "rw", status: 404},
		call{method: "DELETE", url: location, token: "rw", status: 404, contains: []string{"problems/not-found"}},
		call{method: "PUT", url: "/v2/content/filters?filter_id=" + uuid, token: "rw", body: `{"q":"a","sort_by":"id:asc"}`, status: 404},
	)
}

func TestFilterBodies(t *testing.T) {
	post := func(body string, status int, contains ...string) call {
		return call{method: "POST", url: "/v2/content/filters", token: "rw", body: body, status: status, contains: contains, want: map[string]string{"Location": ""}}
	}
	put := func(id, body string, status int, contains ...string) call {
		return call{method: "PUT", url: "/v2/content/filters" + id, token: "rw", body: body, status: status, contains: contains}
	}
	managed := "?filter_id=" + filterUUID("summer-wall")
	a := newApp(t)
	a.table(t, map[string]call{
		"not json":                       post(`{"q":`, 400, "problems/invalid-body"),
		"nothing":                        post(``, 400, "problems/invalid-body"),
		"an array":                       post(`[]`, 400, "problems/invalid-body"),
		"not UTF-8":                      post("{\"name\":\"caf\xe9\",\"q\":\"beach\"}", 400, "not UTF-8"),
		"null":                           post(`null`, 400, "problems/invalid-body"),
		"two objects":                    post(`{"q":"a","sort_by":"id:asc","name":"n"}{}`, 400, "problems/invalid-body"),
		"q missing":                      post(`{"sort_by":"id:asc","name":"n"}`, 400, `"member":"q"`),
		"q null":                         post(`{"q":null,"sort_by":"id:asc","name":"n"}`, 400, `"member":"q"`),
		"q blank":                        post(`{"q":"  ","sort_by":"id:asc","name":"n"}`, 400, `"member":"q"`),
		"q a number":                     post(`{"q":5,"sort_by":"id:asc","name":"n"}`, 400, `"member":"q"`, "must be a string"),
		"q broken":                       post(`{"q":"a AND (b","sort_by":"id:asc","name":"n"}`, 400, "problems/syntax-error", `"member":"q"`, `"position":`),
		"sort_by missing":                post(`{"q":"a","name":"n"}`, 400, `"member":"sort_by"`),
		"sort_by broken":                 post(`{"q":"a","sort_by":"up","name":"n"}`, 400, "problems/syntax-error", `"member":"sort_by"`),
		"sort_by unsortable":             post(`{"q":"a","sort_by":"content.text:asc","name":"n"}`, 400, `"member":"sort_by"`, "created_on"),
		"name missing":                   post(`{"q":"a","sort_by":"id:asc"}`, 400, `"member":"name"`),
		"name blank":                     post(`{"q":"a","sort_by":"id:asc","name":""}`, 400, `"member":"name"`),
		"name long":                      post(`{"q":"a","sort_by":"id:asc","name":"`+strings.Repeat("n", 201)+`"}`, 422, "problems/unacceptable", `"member":"name"`),
		"too large":                      post(`{"q":"a","x":"`+strings.Repeat("x", 1<<20)+`"}`, 413, "problems/too-large"),
		"exactly a mebibyte":             post(`{"x":"`+strings.Repeat("x", 1<<20-8)+`"}`, 400, `"member":"q"`),
		"any content type":               {method: "POST", url: "/v2/content/filters", token: "rw", header: map[string]string{"Content-Type": "text/plain"}, body: `{"q":"a","sort_by":"id:asc","name":"plain"}`, status: 201},
		"byte order mark":                {method: "POST", url: "/v2/content/filters", token: "rw", body: "\uFEFF" + `{"q":"a","sort_by":"id:asc","name":"bom"}`, status: 201},
		"private fields":                 {method: "POST", url: "/v2/content/filters", token: "rw", body: `{"q":"submission.age:[20 TO 30]","sort_by":"submission.age:asc","name":"ages"}`, status: 201},
		"warns":                          {method: "POST", url: "/v2/content/filters", token: "rw", body: `{"q":"a AND b OR c","sort_by":"id:asc","name":"mixed"}`, status: 201, want: map[string]string{"Warning": "~mixed-operators"}},
		"put without id":                 put("", `{"q":"a","sort_by":"id:asc"}`, 400, "problems/missing-parameter", `"parameter":"filter_id"`),
		"put blank id":                   put("?filter_id=+", `{"q":"a","sort_by":"id:asc"}`, 400, "problems/missing-parameter"),
		"put unknown":                    put("?filter_id=17", `{"q":"a","sort_by":"id:asc"}`, 404, "problems/not-found"),
		"put text id":                    put("?filter_id=abc", `{"q":"a","sort_by":"id:asc"}`, 404),
		"put managed":                    put(managed, `{"q":"a","sort_by":"id:asc"}`, 403, "problems/managed", "managed by ContentFilter shop/summer-wall"),
		"put managed, broken":            put(managed, `{"q":"(","sort_by":"id:asc"}`, 400),
		"put without q":                  put("?filter_id=4242", `{"sort_by":"id:asc"}`, 400, `"member":"q"`),
		"put without sort":               put("?filter_id=4242", `{"q":"a"}`, 400, `"member":"sort_by"`),
		"put warns":                      {method: "PUT", url: "/v2/content/filters?filter_id=4242", token: "rw", body: `{"q":"a AND b OR approval_status:rej","sort_by":"id:asc"}`, status: 204, want: map[string]string{"Warning": "~mixed-operators"}},
		"delete managed":                 {method: "DELETE", url: "/v2/content/filters/" + filterUUID("summer-wall"), token: "rw", status: 403, contains: []string{"problems/managed"}},
		"delete unknown":                 {method: "DELETE", url: "/v2/content/filters/17", token: "rw", status: 404},
		"the stored query does not warn": {url: "/v2/content/filters/" + filterUUID("summer-wall"), token: "ro", want: map[string]string{"Warning": ""}},
	})
	// Refused requests must not have changed anything.
	a.do(call{url: "/v2/content/filters/" + filterUUID("summer-wall") + "?info=1", token: "rw", contains: []string{`"query":"approval_status:app AND tags.marketer_tags.key:summer"`}})
}

func TestFilterList(t *testing.T) {
	a := newApp(t)
	all := []string{"hero-first", "made over HTTP", "nothing", "private", "secret-order", "shuffled", "summer-wall"}
	names := func(got answer) []string {
		t.Helper()
		list, _ := got.member(t, "_embeded").([]any)
		out := []string{}
		for _, f := range list {
			out = append(out, f.(map[string]any)["name"].(string))
		}
		return out
	}
	first := a.do(call{url: "/v2/content/filters", token: "rw", contains: []string{`{"total_results":7,"_embeded":[{`, `"filter_uuid":"` + madeUUID + `"`}, lacks: []string{"_embedded", `"next"`, `"prev"`}})
	if diff := cmp.Diff(all, names(first)); diff != "" {
		t.Errorf("filters:\n%s", diff)
	}
	for _, part := range []string{
		`"managed_by":"ContentFilter shop/hero-first","read_access":"ReadOnly","favorite_tag":"marketer_tags:hero","last_modified":"2026-11-21T12:00:00Z"`,
		`"managed_by":null,"read_access":"None","favorite_tag":null,"last_modified":"2026-11-21T12:00:00Z"`,
		`"managed_by":"ContentFilter shop/private","read_access":"None"`,
	} {
		if !strings.Contains(string(first.body), part) {
			t.Errorf("the list lacks %s:\n%s", part, first.body)
		}
	}
	var paged []string
	at := "/v2/content/filters?page_size=3"
	var last answer
	for at != "" {
		last = a.do(call{url: at, token: "rw", contains: []string{`"total_results":7`}})
		paged = append(paged, names(last)...)
		at = last.link(t, "next")
	}
	if diff := cmp.Diff(all, paged); diff != "" {
		t.Errorf("page by page:\n%s", diff)
	}
	if diff := cmp.Diff(all[3:6], names(a.do(call{url: last.link(t, "prev"), token: "rw"}))); diff != "" {
		t.Errorf("the page before:\n%s", diff)
	}
	// A new filter that sorts before the cursor must not cause repetitions after the cursor.
	next := a.do(call{url: "/v2/content/filters?page_size=3", token: "rw"}).link(t, "next")
	a.do(call{method: "POST", url: "/v2/content/filters", token: "rw", body: `{"q":"a","sort_by":"id:asc","name":"a"}`, status: 201})
	if diff := cmp.Diff(all[3:6], names(a.do(call{url: next, token: "rw"}))); diff != "" {
		t.Errorf("behind the cursor:\n%s", diff)
	}
	if got := names(a.do(call{url: "/v2/content/filters?page=99", token: "rw"})); !slices.Equal(got, []string{}) {
		t.Errorf("past the last page: %v", got)
	}
	itemCursor := a.do(call{url: q("*:*", "page_size=1", "sort_by=id:asc"), token: "rw"}).link(t, "next")
	a.table(t, map[string]call{
		"page 0":        {url: "/v2/content/filters?page=0", token: "rw", status: 400, contains: []string{`"parameter":"page"`}},
		"page far":      {url: "/v2/content/filters?page=9007199254740991", token: "rw", contains: []string{`"_embeded":[]`}},
		"page 2^53":     {url: "/v2/content/filters?page=9007199254740992", token: "rw", status: 400},
		"size 101":      {url: "/v2/content/filters?page_size=101", token: "rw", status: 400, contains: []string{`"parameter":"page_size"`, "from 1 to 100"}},
		"size 100":      {url: "/v2/content/filters?page_size=100", token: "rw"},
		"cursor":        {url: "/v2/content/filters?cursor=filters.e30", token: "rw"},
		"bad cursor":    {url: "/v2/content/filters?cursor=abc", token: "rw", status: 400, contains: []string{"problems/cursor-unusable"}},
		"item's cursor": {url: "/v2/content/filters?" + itemCursor[strings.Index(itemCursor, "cursor="):], token: "rw", status: 400},
	})
}
