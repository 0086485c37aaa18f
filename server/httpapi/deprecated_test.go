package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
)

func TestSingleItem(t *testing.T) {
	newApp(t).table(t, map[string]call{
		"read-only":     {url: "/v1/ugc/1001/", token: "ro", contains: []string{`{"id":1001,`}, want: map[string]string{"Content-Type": "application/json", "Link": `</base/v2/content/items>; rel="successor-version"`}},
		"without slash": {url: "/v1/ugc/1001", token: "rw", contains: []string{`{"id":1001,`}},
		"leading zeros": {url: "/v1/ugc/0001001", token: "rw", contains: []string{`{"id":1001,`}},
		"unknown":       {url: "/v1/ugc/17/", token: "ro", status: 404, contains: []string{"problems/not-found"}},
		"zero":          {url: "/v1/ugc/0/", token: "ro", status: 404},
		"negative":      {url: "/v1/ugc/-1/", token: "ro", status: 404},
		"2^53":          {url: "/v1/ugc/9007199254740992/", token: "ro", status: 404},
		"2^70":          {url: "/v1/ugc/1180591620717411303424/", token: "ro", status: 404},
		"text":          {url: "/v1/ugc/abc/", token: "ro", status: 400, contains: []string{"problems/invalid-parameter", `"parameter":"ugc_id"`}},
		"a query":       {url: "/v1/ugc/1001%20OR%201002/", token: "ro", status: 400},
	})
}

func TestCollection(t *testing.T) {
	sandals := fmt.Sprint(unitID("sandals"))
	url := func(params ...string) string {
		return "/v1/ugc/collections/12/?" + strings.Join(append([]string{"order=date_asc"}, params...), "&")
	}
	ids := func(u string, total int, ids ...item.ID) call {
		return call{url: u, token: "ro", ids: ids, contains: []string{fmt.Sprintf(`{"total_results":%d,`, total), `"_links":{"self":{"href":"/base/v1/ugc/collections/12/?`}}
	}
	bad := func(parameter string, params ...string) call {
		return call{url: url(params...), token: "ro", status: 400, contains: []string{"problems/", fmt.Sprintf(`"parameter":%q`, parameter)}}
	}
	newApp(t).table(t, map[string]call{
		"default size":            ids(url(), 30, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008),
		"page":                    ids(url("page=4"), 30, 1025, 1026, 1027, 1028, 1029, 1030),
		"past the last":           ids(url("page=5"), 30),
		"largest page":            {url: url("page_size=100"), token: "ro", lacks: []string{`"next"`}},
		"shuffled by default":     {url: "/v1/ugc/collections/12/?page_size=100", token: "ro", contains: []string{`"total_results":30`, "seed="}},
		"shuffled by name":        {url: "/v1/ugc/collections/12?order=random_sort&seed=x", token: "rw", contains: []string{`"total_results":30`}},
		"successor":               {url: url(), token: "ro", want: map[string]string{"Link": `~</base/v2/content/filters>; rel="successor-version"`}},
		"approval_status":         ids(url("approval_status=rej", "page_size=2"), 7, 1003, 1007),
		"approval_status, list":   ids(url("approval_status=rej,pen", "page_size=4"), 14, 1003, 1004, 1007, 1008),
		"with spaces":             ids(url("approval_status=rej,+pen", "page_size=2"), 14, 1003, 1004),
		"social_platform":         ids(url("social_platform=vinetweet,tumblr", "page_size=2"), 10, 1004, 1006),
		"claimed yes":             ids(url("claimed=yes", "page_size=2"), 5, 1001, 1007),
		"claimed no":              ids(url("claimed=no", "page_size=2"), 25, 1002, 1003),
		"claimed either":          ids(url("claimed=yes,no", "page_size=1"), 30, 1001),
		"media_type":              ids(url("media_type=video,text", "page_size=2"), 20, 1002, 1003),
		"has units":               ids(url("has_activate_units=yes"), 2, 1001, 1002),
		"has no units":            ids(url("has_activate_units=no", "page_size=1"), 28, 1003),
		"external_id":             ids(url("external_id=SKU-1"), 2, 1001, 1002),
		"external_id, other case": ids(url("external_id=sku-1,nothing"), 2, 1001, 1002),
		"external_id, none":       ids(url("external_id=SKU-9"), 0),
		"activate_unit_id":        ids(url("activate_unit_id="+sandals), 2, 1001, 1002),
		"tags":                    ids(url("namespace=marketer_tags", "tags_required=summer", "page_size=2"), 6, 1001, 1006),
		"all tags":                ids(url("namespace=marketer_tags,hashtags", "tags_required=summer,beach_2026"), 1, 1001),
		"any namespace":           ids(url("namespace=nothing,marketer_tags", "tags_required=hero"), 2, 1003, 1007),
		"author by name":          ids(url("author_id=author1", "page_size=2"), 8, 1002, 1006),
		"author by platform id":   ids(url("author_id=p2", "page_size=2"), 7, 1003, 1007),
		"author by number":        ids(url("author_id=503", "page_size=2"), 7, 1004, 1008),
		"two authors":             ids(url("author_id=author1,p2", "page_size=2"), 15, 1002, 1003),
		"author by a query":       ids(url("author_id=*"), 0),
		"author with syntax":      ids(url("author_id="+"a)+OR+(*:*"), 0),
		"anded":                   ids(url("approval_status=app", "media_type=image", "claimed=yes", "page_size=3"), 3, 1001, 1013, 1025),
		"blank":                   ids(url("approval_status=", "author_id=+", "page_size=1"), 30, 1001),
		"no such campaign":        {url: "/v1/ugc/collections/99/", token: "ro", ids: []item.ID{}},
		"campaign 0":              {url: "/v1/ugc/collections/0/", token: "ro", ids: []item.ID{}},
		"campaign 2^70":           {url: "/v1/ugc/collections/1180591620717411303424/", token: "ro", status: 404, contains: []string{"no campaign can have this id"}},
		"negative campaign":       {url: "/v1/ugc/collections/-5/", token: "ro", status: 404},
		"campaign of a sign":      {url: "/v1/ugc/collections/-/", token: "ro", status: 400, contains: []string{`"parameter":"collection_id"`}},
		"campaign of text":        {url: "/v1/ugc/collections/summer/", token: "ro", status: 400, contains: []string{`"parameter":"collection_id"`}},

		"bad status":       bad("approval_status", "approval_status=maybe"),
		"bad list":         bad("approval_status", "approval_status=app,,pen"),
		"bad in a list":    bad("social_platform", "social_platform=twitter,myspace"),
		"bad claimed":      bad("claimed", "claimed=true"),
		"bad media":        bad("media_type", "media_type=sound"),
		"bad units":        bad("has_activate_units", "has_activate_units=1"),
		"bad unit id":      bad("activate_unit_id", "activate_unit_id=abc"),
		"namespace alone":  bad("tags_required", "namespace=marketer_tags"),
		"tags alone":       bad("namespace", "tags_required=summer"),
		"bad page":         bad("page", "page=0"),
		"bad size":         bad("page_size", "page_size=101"),
		"too many authors": bad("author_id", "author_id="+strings.TrimSuffix(manyWords(101), ",")),
		"bad order":        {url: "/v1/ugc/collections/12/?order=date_desc", token: "ro", status: 400, contains: []string{`"parameter":"order"`}},
		"bad cursor":       {url: url("cursor=x"), token: "ro", status: 400, contains: []string{"problems/cursor-unusable"}},
		"seed too long":    bad("seed", "seed="+strings.Repeat("s", 101)),
	})
}

func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d,", i)
	}
	return b.String()
}
