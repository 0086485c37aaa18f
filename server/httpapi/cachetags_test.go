package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestCacheTags checks that the responses that caches may store name what they show, in the three headers alike.
func TestCacheTags(t *testing.T) {
	a := newApp(t)
	tags := func(c call) []string {
		t.Helper()
		h := a.do(c).header
		keys := strings.Fields(h.Get("Surrogate-Key"))
		if h.Get("Cache-Tag") != strings.Join(keys, ",") || len(keys) > 0 && h.Get("Cache-Groups") != `"`+strings.Join(keys, `", "`)+`"` {
			t.Errorf("the headers differ: %q, %q, %q", keys, h.Get("Cache-Tag"), h.Get("Cache-Groups"))
		}
		return keys
	}
	filter := "/v2/content/filters/" + filterUUID("summer-wall")
	list := tags(call{url: filter, token: "ro"})
	if len(list) != 2 || list[0][0] != 'p' || list[1][0] != 'f' {
		t.Fatalf("tags of a filter: %q", list)
	}
	for range 3 { // the third response comes from the cache of pages
		if again := tags(call{url: filter, token: "ro"}); strings.Join(again, " ") != strings.Join(list, " ") {
			t.Errorf("the tags of the same page are %q, then %q", list, again)
		}
	}
	one := tags(call{url: "/v1/ugc/1001/", token: "ro"})
	if len(one) != 2 || one[0] != list[0] || one[1][0] != 'i' {
		t.Errorf("tags of an item: %q", one)
	}
	for _, url := range []string{"/v2/content/1001", "/v1/tags/ugc/1001/"} {
		if other := tags(call{url: url, token: "ro"}); strings.Join(other, " ") != strings.Join(one, " ") {
			t.Errorf("%s has the tags %q, and another page of the item %q", url, other, one)
		}
	}
	if other := tags(call{url: "/v1/ugc/1003/", token: "ro"}); other[1] == one[1] {
		t.Errorf("two items have the tag %s", one[1])
	}
	if got := tags(call{url: q("id:1001"), token: "ro"}); len(got) != 1 || got[0] != list[0] {
		t.Errorf("tags of a query: %q; want that of the property, %s", got, list[0])
	}
	if got := tags(call{url: q("id:8001"), token: "limited-ro"}); got[0] == list[0] {
		t.Errorf("two properties have the tag %s", got[0])
	}
	for name, c := range map[string]call{
		"random order": {url: q("*:*", "sort_by=random"), token: "ro"}, "rights": {url: "/v2/content/rights", token: "ro"},
		"READ-WRITE": {url: filter, token: "rw"}, "no token": {url: "/openapi.json"}, "error": {url: q("(broken"), token: "ro", status: http.StatusBadRequest},
	} {
		if got := tags(c); len(got) > 0 {
			t.Errorf("%s: no cache may keep the response, but it has the tags %q", name, got)
		}
	}
}
