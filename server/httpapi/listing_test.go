package httpapi_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
)

// q returns the URL of an ad-hoc query.
func q(query string, more ...string) string {
	return "/v2/content/items?q=" + url.QueryEscape(query) + strings.Join(append([]string{""}, more...), "&")
}

func TestItems(t *testing.T) {
	newApp(t).table(t, map[string]call{
		"by id":                                {url: q("id:1001"), token: "ro", ids: []item.ID{1001}, contains: []string{`{"total_results":1,"_embedded":{"ugc:item":[{"id":1001,`}},
		"with slash":                           {url: "/v2/content/items/?q=id:1001", token: "ro", ids: []item.ID{1001}},
		"newest first":                         {url: q("approval_status:pen", "page_size=3"), token: "ro", ids: []item.ID{1060, 1056, 1052}, contains: []string{`"total_results":15`}},
		"by one key":                           {url: q("approval_status:pen", "page_size=2", "sort_by=id:asc"), token: "ro", ids: []item.ID{1004, 1008}},
		"by two keys":                          {url: q("id:(1001 OR 1002 OR 1003 OR 1004)", "sort_by=approval_status:desc,id:desc"), token: "ro", ids: []item.ID{1003, 1004, 1002, 1001}},
		"by relevance":                         {url: q("text:beach id:1002", "sort_by=_score:desc", "page_size=1"), token: "ro"},
		"default page size":                    {url: q("*:*"), token: "ro", contains: []string{`"total_results":60`, `"next":{"href":"/base/v2/content/items?`}},
		"no result":                            {url: q("text:nowheretobefound"), token: "ro", ids: []item.ID{}, contains: []string{`"ugc:item":[]`, `"total_results":0`}},
		"past the last":                        {url: q("id:1001", "page=2"), token: "ro", ids: []item.ID{}, contains: []string{`"total_results":1`, `"prev":`}, lacks: []string{`"next"`}},
		"far past":                             {url: q("id:1001", "page=9007199254740991", "page_size=500"), token: "ro", ids: []item.ID{}},
		"largest page":                         {url: q("*:*", "page_size=500", "sort_by=id:asc"), token: "ro", lacks: []string{`"next"`}},
		"unknown parameter":                    {url: q("id:1001", "colour=blue"), token: "ro", ids: []item.ID{1001}, contains: []string{"colour=blue"}},
		"additional_query is only for filters": {url: q("id:1001", "additional_query=id:1002"), token: "ro", ids: []item.ID{1001}},
		"favourite key":                        {url: q("campaign:12", "favorite_tag=hero", "page_size=4", "sort_by=id:asc"), token: "ro", ids: []item.ID{1003, 1007, 1001, 1002}},
		"favourite namespace":                  {url: q("campaign:12", "favorite_tag=kinds:video", "page_size=3", "sort_by=id:desc"), token: "ro", ids: []item.ID{1029, 1026, 1023}},
		"favourite that no item carries":       {url: q("campaign:12", "favorite_tag=nobody", "page_size=2", "sort_by=id:asc"), token: "ro", ids: []item.ID{1001, 1002}},
		"blank options":                        {url: q("id:1001", "sort_by=", "favorite_tag=", "seed=", "cursor=", "page=", "page_size=+"), token: "ro", ids: []item.ID{1001}},
		"same value twice":                     {url: q("id:1001", "q=id%3A1001"), token: "ro", ids: []item.ID{1001}},
		"by bearer":                            {url: q("id:1001"), bearer: "ro", ids: []item.ID{1001}},
		"both, the same":                       {url: q("id:1001"), token: "ro", bearer: "ro", ids: []item.ID{1001}},
		"head":                                 {method: "HEAD", url: q("id:1001"), token: "ro", want: map[string]string{"Content-Type": "application/json", "ETag": `~"`}},
		"link below the external path":         {url: q("*:*"), token: "ro", want: map[string]string{"Link": `~</base/v2/content/items?`}},
		"no Link header beyond 4 KiB":          {url: q("*:*", "x="+strings.Repeat("a", 4000)), token: "ro", want: map[string]string{"Link": ""}, contains: []string{`"next":{"href":"/base/v2/content/items?cursor=`}},
		"short link below the external URL":    {url: q("id:1001"), token: "ro", contains: []string{`"shortened_permalink":"https://content.example/base/i/code1001"`}},
		"warning about the caller's syntax":    {url: q("approval_status:app AND campaign:12 OR campaign:13"), token: "ro", want: map[string]string{"Warning": `~299 vitrine "mixed-operators:`}},
		"warning about a field":                {url: q("aproval_status:app"), token: "ro", ids: []item.ID{}, want: map[string]string{"Warning": `~unknown-field`}},
		"no warning":                           {url: q("approval_status:app"), token: "ro", want: map[string]string{"Warning": ""}},

		"q missing":        {url: "/v2/content/items", token: "ro", status: 400, contains: []string{"problems/missing-parameter", `"parameter":"q"`}},
		"q blank":          {url: "/v2/content/items?q=+", token: "ro", status: 400, contains: []string{"problems/missing-parameter"}},
		"q broken":         {url: q("(beach"), token: "ro", status: 400, contains: []string{"problems/syntax-error", `"parameter":"q"`, `"position":`, `"near":`, `"expected":`}},
		"q not utf-8":      {url: "/v2/content/items?q=%ff", token: "ro", status: 400, contains: []string{`"parameter":"q"`}},
		"q twice":          {url: q("id:1001", "q=id:1002"), token: "ro", status: 400, contains: []string{`"parameter":"q"`}},
		"q too long":       {url: q(strings.Repeat("a ", 9000)), token: "ro", status: 400, contains: []string{"problems/syntax-error"}},
		"number of text":   {url: q("id:abc"), token: "ro", status: 400, contains: []string{"problems/syntax-error"}},
		"bad escape":       {url: "/v2/content/items?q=id:1001&x=%zz", token: "ro", status: 400, contains: []string{"problems/invalid-parameter"}},
		"page 0":           {url: q("id:1001", "page=0"), token: "ro", status: 400, contains: []string{"problems/invalid-parameter", `"parameter":"page"`}},
		"page -1":          {url: q("id:1001", "page=-1"), token: "ro", status: 400, contains: []string{`"parameter":"page"`}},
		"page abc":         {url: q("id:1001", "page=abc"), token: "ro", status: 400, contains: []string{`"parameter":"page"`}},
		"page 1.5":         {url: q("id:1001", "page=1.5"), token: "ro", status: 400, contains: []string{`"parameter":"page"`}},
		"page 2^53":        {url: q("id:1001", "page=9007199254740992"), token: "ro", status: 400, contains: []string{`"parameter":"page"`}},
		"page 2^53+1":      {url: q("id:1001", "page=9007199254740993"), token: "ro", status: 400, contains: []string{`"parameter":"page"`}},
		"page 2^70":        {url: q("id:1001", "page=1180591620717411303424"), token: "ro", status: 400, contains: []string{`"parameter":"page"`}},
		"size 0":           {url: q("id:1001", "page_size=0"), token: "ro", status: 400, contains: []string{`"parameter":"page_size"`}},
		"size 501":         {url: q("id:1001", "page_size=501"), token: "ro", status: 400, contains: []string{`"parameter":"page_size"`, "from 1 to 500"}},
		"size text":        {url: q("id:1001", "page_size=many"), token: "ro", status: 400, contains: []string{`"parameter":"page_size"`}},
		"sort unknown":     {url: q("id:1001", "sort_by=colour:asc"), token: "ro", status: 400, contains: []string{`"parameter":"sort_by"`, "created_on"}},
		"sort text":        {url: q("id:1001", "sort_by=content.text:asc"), token: "ro", status: 400, contains: []string{`"parameter":"sort_by"`}},
		"sort sideways":    {url: q("id:1001", "sort_by=id:sideways"), token: "ro", status: 400, contains: []string{`"parameter":"sort_by"`}},
		"sort two randoms": {url: q("id:1001", "sort_by=random,id:asc"), token: "ro", status: 400, contains: []string{`"parameter":"sort_by"`}},
		"seed text":        {url: q("id:1001", "sort_by=random&seed=abc"), token: "ro", status: 400, contains: []string{`"parameter":"seed"`}},
		"seed of signs":    {url: q("id:1001", "sort_by=random&seed=.-"), token: "ro", status: 400, contains: []string{`"parameter":"seed"`}},
		"favourite bad":    {url: q("id:1001", "favorite_tag=Not+A+Key"), token: "ro", status: 400, contains: []string{`"parameter":"favorite_tag"`}},
		"cursor foreign":   {url: q("id:1001", "cursor=abc"), token: "ro", status: 400, contains: []string{"problems/cursor-unusable", "start again"}},
		"write":            {method: "POST", url: "/v2/content/items", token: "rw", status: 405, want: map[string]string{"Allow": "GET, HEAD, OPTIONS"}},
	})
}

func TestFilterItems(t *testing.T) {
	wall := "/v2/content/filters/" + filterUUID("summer-wall")
	summer := []item.ID{1046, 1041, 1026, 1021, 1006, 1001}
	newApp(t).table(t, map[string]call{
		"by uuid":                           {url: wall, token: "rw", ids: summer},
		"by uuid, capitals":                 {url: "/v2/content/filters/" + strings.ToUpper(filterUUID("summer-wall")), token: "rw", ids: summer},
		"by id":                             {url: fmt.Sprintf("/v2/content/filters/%d", filterID("summer-wall")), token: "rw", ids: summer},
		"with slash":                        {url: wall + "/", token: "rw", ids: summer},
		"made over HTTP":                    {url: "/v2/content/filters/4242?page_size=2", token: "rw", ids: []item.ID{1003, 1007}},
		"read-only, open":                   {url: wall, token: "ro", ids: summer, lacks: []string{"submission"}},
		"read-only, closed":                 {url: "/v2/content/filters/" + filterUUID("private"), token: "ro", status: 403, contains: []string{"problems/class-refused"}, lacks: []string{"approval_status"}},
		"read-only, made":                   {url: "/v2/content/filters/4242", token: "ro", status: 403},
		"sorted":                            {url: wall + "?sort_by=id:asc&page_size=2", token: "ro", ids: []item.ID{1001, 1006}},
		"favourite":                         {url: wall + "?favorite_tag=kinds:video&page_size=3", token: "ro", ids: []item.ID{1041, 1026, 1046}},
		"own favourite":                     {url: "/v2/content/filters/" + filterUUID("hero-first") + "?page_size=4", token: "ro", ids: []item.ID{1007, 1003, 1030, 1029}},
		"other favourite":                   {url: "/v2/content/filters/" + filterUUID("hero-first") + "?page_size=2&favorite_tag=nobody", token: "ro", ids: []item.ID{1030, 1029}},
		"additional":                        {url: wall + "?additional_query=campaign:13", token: "ro", ids: []item.ID{1046, 1041}},
		"additional cannot break out":       {url: wall + "?additional_query=" + url.QueryEscape(") OR (*:*"), token: "ro", status: 400, contains: []string{"problems/syntax-error", `"parameter":"additional_query"`, `"position":0`}, lacks: []string{"summer", "approval_status"}},
		"additional cannot widen":           {url: wall + "?additional_query=" + url.QueryEscape("*:* OR approval_status:rej"), token: "ro", ids: summer},
		"additional cannot cancel":          {url: wall + "?additional_query=" + url.QueryEscape("-nothing"), token: "ro", ids: summer},
		"additional with a comment attempt": {url: wall + "?additional_query=" + url.QueryEscape(`" OR *:* OR "`), token: "ro"},
		"additional blank":                  {url: wall + "?additional_query=+", token: "ro", ids: summer},
		"additional warns":                  {url: wall + "?additional_query=" + url.QueryEscape("campaign:12 AND id:1001 OR id:1006"), token: "ro", want: map[string]string{"Warning": "~mixed-operators"}},
		"empty":                             {url: "/v2/content/filters/" + filterUUID("nothing"), token: "ro", ids: []item.ID{}},
		"private order, public reader":      {url: "/v2/content/filters/" + filterUUID("secret-order") + "?page_size=3", token: "ro", ids: []item.ID{1001, 1007, 1013}, lacks: []string{"mail.example", "submission", `"age"`}},
		"info": {url: wall + "?info=1", token: "rw", contains: []string{
			`"query":"approval_status:app AND tags.marketer_tags.key:summer"`, `"filter_uuid":"` + filterUUID("summer-wall") + `"`, `"platform_page_id":4711`,
			`"name":"summer-wall"`, `"sort_by":"created_on:desc"`, `"is_editable":false`, `"total_results":6`, `"managed_by":"ContentFilter shop/summer-wall"`,
		}, lacks: []string{"_embedded"}},
		"info, read-only":     {url: wall + "?info=1", token: "ro", contains: []string{`"total_results":6`}, lacks: []string{`"query"`, "marketer_tags"}},
		"info, private order": {url: "/v2/content/filters/" + filterUUID("secret-order") + "?info=1", token: "ro", contains: []string{`"name":"secret-order"`}, lacks: []string{"sort_by", "submission", `"age"`}},
		"info, made":          {url: "/v2/content/filters/" + madeUUID + "?info=1", token: "rw", contains: []string{`"managed_by":null`, `"is_editable":true`, `"id":4242`}},
		"info 0":              {url: wall + "?info=0", token: "ro", ids: summer},
		"info text":           {url: wall + "?info=yes", token: "ro", status: 400, contains: []string{`"parameter":"info"`}},
		"info 2":              {url: wall + "?info=2", token: "ro", status: 400, contains: []string{`"parameter":"info"`}},
		"info blank":          {url: wall + "?info=", token: "ro", ids: summer},
		"unknown uuid":        {url: "/v2/content/filters/00000000-0000-4000-8000-000000000000", token: "rw", status: 404, contains: []string{"problems/not-found"}},
		"unknown id":          {url: "/v2/content/filters/17", token: "rw", status: 404},
		"no id at all":        {url: "/v2/content/filters/summer-wall", token: "rw", status: 404},
		"huge id":             {url: "/v2/content/filters/99999999999999999999", token: "rw", status: 404},
		"other property":      {url: wall, token: "other-rw", status: 404},
		"other, by id":        {url: fmt.Sprintf("/v2/content/filters/%d", filterID("summer-wall")), token: "other-rw", status: 404},
		"page 0":              {url: wall + "?page=0", token: "ro", status: 400, contains: []string{`"parameter":"page"`}},
		"size 501":            {url: wall + "?page_size=501", token: "ro", status: 400, contains: []string{`"parameter":"page_size"`}},
		"bad sort":            {url: wall + "?sort_by=summer:up", token: "ro", status: 400, contains: []string{`"parameter":"sort_by"`}},
		"bad cursor":          {url: wall + "?cursor=nonsense", token: "ro", status: 400, contains: []string{"problems/cursor-unusable"}},
		"no token":            {url: wall, status: 403, contains: []string{"problems/token-refused"}},
		"post":                {method: "POST", url: wall, token: "rw", status: 405, want: map[string]string{"Allow": "DELETE, GET, HEAD, OPTIONS"}},
	})
}

// TestPages follows the links of every kind of list, with small pages. Every item must occur exactly once.
func TestPages(t *testing.T) {
	a := newApp(t)
	for name, c := range map[string]struct {
		url   string
		token string
		total int
	}{
		"items, newest first":     {q("*:*", "page_size=7"), "ro", 60},
		"items, by relevance":     {q("beach sunset", "page_size=4"), "ro", 34},
		"items, two keys":         {q("*:*", "page_size=11", "sort_by=approval_status:asc,content.social_platform:desc"), "ro", 60},
		"items, favourites":       {q("*:*", "page_size=3", "favorite_tag=summer", "sort_by=id:asc"), "ro", 60},
		"items, missing values":   {q("*:*", "page_size=9", "sort_by=submission.age:desc"), "rw", 60},
		"items, random":           {q("*:*", "page_size=7", "sort_by=random"), "ro", 60},
		"items, random with seed": {q("*:*", "page_size=7", "sort_by=random", "seed=42"), "ro", 60},
		"filter":                  {"/v2/content/filters/" + filterUUID("summer-wall") + "?page_size=2", "ro", 6},
		"filter, private order":   {"/v2/content/filters/" + filterUUID("secret-order") + "?page_size=3", "ro", 10},
		"filter, shuffled":        {"/v2/content/filters/" + filterUUID("shuffled") + "?page_size=4", "ro", 30},
		"filter, additional":      {"/v2/content/filters/" + filterUUID("hero-first") + "?page_size=4&additional_query=approval_status:app", "ro", 16},
		"tag":                     {"/v1/tags/marketer_tags/summer/?page_size=5", "ro", 12},
		"collection, random":      {"/v1/ugc/collections/12/", "ro", 30},
		"collection, by date":     {"/v1/ugc/collections/12/?order=date_asc&page_size=7", "ro", 30},
	} {
		t.Run(name, func(t *testing.T) {
			on := *a
			on.t = t
			var forward []item.ID
			var pages [][]item.ID
			at := c.url
			var last answer
			for at != "" {
				last = on.do(call{url: at, token: c.token})
				if total := last.member(t, "total_results"); total != float64(c.total) {
					t.Fatalf("total_results %v, want %d", total, c.total)
				}
				ids := last.ids(t)
				pages = append(pages, ids)
				forward = append(forward, ids...)
				at = last.link(t, "next")
				if strings.Contains(at, "access_token") {
					t.Fatalf("the link %s holds a token", at)
				}
			}
			if unique := slices.Compact(slices.Sorted(slices.Values(forward))); len(unique) != c.total || len(forward) != c.total {
				t.Errorf("%d items, %d different ones, want %d", len(forward), len(unique), c.total)
			}
			// Go back with the links to numbered pages. The pages must be the same in reverse, because nothing has changed.
			for i := len(pages) - 2; i >= 0; i-- {
				at = last.link(t, "prev")
				if at == "" {
					t.Fatalf("page %d has no prev link", i+2)
				}
				last = on.do(call{url: at, token: c.token})
				if diff := cmp.Diff(pages[i], last.ids(t)); diff != "" {
					t.Errorf("page %d, by its number:\n%s", i+1, diff)
				}
			}
			if prev := last.link(t, "prev"); prev != "" {
				t.Errorf("the first page has a prev link: %s", prev)
			}
			first := on.do(call{url: last.link(t, "first"), token: c.token})
			if diff := cmp.Diff(pages[0], first.ids(t)); diff != "" {
				t.Errorf("the first link:\n%s", diff)
			}
			self := on.do(call{url: last.link(t, "self"), token: c.token})
			if diff := cmp.Diff(pages[0], self.ids(t)); diff != "" {
				t.Errorf("the self link:\n%s", diff)
			}
		})
	}
}

// TestTokenInAnotherParameter checks that links do not repeat a token that the caller sent in the wrong parameter. The method do fails if a
// response contains a token.
func TestTokenInAnotherParameter(t *testing.T) {
	got := newApp(t).do(call{url: q("*:*", "page_size=2", "foo="+token("ro")), token: "ro"})
	if next := got.link(t, "next"); !strings.Contains(next, "page_size=2") {
		t.Errorf("the link %s lacks a parameter", next)
	}
}

// TestPagesUnderWrites follows next links while items are added, and expects each earlier item exactly once. In a list by relevance, this
// works only if new items do not change other scores.
func TestPagesUnderWrites(t *testing.T) {
	words := "beach OR sunset OR mountain OR river OR city OR forest OR desert"
	for order, query := range map[string]string{
		"created_on:desc": words, "created_on:asc": words, "random": words, "id:asc": words, "_score:desc": "content_type:text OR _exists_:text",
	} {
		t.Run(order, func(t *testing.T) {
			a := newApp(t)
			seen := map[item.ID]int{}
			at := q(query, "page_size=9", "sort_by="+order)
			for n := 0; at != ""; n++ {
				got := a.do(call{url: at, token: "ro"})
				for _, id := range got.ids(t) {
					seen[id]++
				}
				at = got.link(t, "next")
				a.write(shop, fmt.Sprintf(`{"created_on":%q,"content":{"content_type":"text","text":"beach sunset mountain"}}`,
					began.AddDate(0, 0, -61+n*17).Format(time.RFC3339)))
			}
			for id := item.ID(1001); id <= 1060; id++ {
				if seen[id] != 1 {
					t.Errorf("item %d came %d times", id, seen[id])
				}
			}
		})
	}
}

func TestRandom(t *testing.T) {
	a := newApp(t)
	seeded := q("*:*", "sort_by=random", "seed=7", "page_size=60")
	first := a.do(call{url: seeded, token: "ro", want: map[string]string{"Cache-Control": "~public, max-age=60"}})
	again := a.do(call{url: seeded, token: "rw"})
	if diff := cmp.Diff(first.ids(t), again.ids(t)); diff != "" {
		t.Errorf("one seed, two orders:\n%s", diff)
	}
	if slices.IsSorted(first.ids(t)) {
		t.Error("the random order is sorted by id")
	}
	otherSeed := a.do(call{url: strings.Replace(seeded, "seed=7", "seed=8", 1), token: "ro"})
	if cmp.Equal(first.ids(t), otherSeed.ids(t)) {
		t.Error("two seeds, one order")
	}
	// A new item must not change the order of the other items.
	a.write(shop, `{"content":{"content_type":"text","text":"new"}}`)
	now := a.do(call{url: strings.Replace(seeded, "page_size=60", "page_size=61", 1), token: "ro"}).ids(t)
	kept := slices.DeleteFunc(now, func(id item.ID) bool { return id > 1060 })
	if diff := cmp.Diff(first.ids(t), kept); diff != "" {
		t.Errorf("a new item moved others:\n%s", diff)
	}

	// Without a seed, each request gets a new order, which must not be cached. The links contain the generated seed.
	unseeded := a.do(call{url: q("*:*", "sort_by=random", "page_size=61"), token: "ro", want: map[string]string{"Cache-Control": "private, no-store"}})
	second := a.do(call{url: q("*:*", "sort_by=random", "page_size=61"), token: "ro"})
	if cmp.Equal(unseeded.ids(t), second.ids(t)) {
		t.Error("two requests without a seed have one order")
	}
	self := unseeded.link(t, "self")
	if !strings.Contains(self, "seed=") {
		t.Fatalf("self link %s has no seed", self)
	}
	if diff := cmp.Diff(unseeded.ids(t), a.do(call{url: self, token: "ro"}).ids(t)); diff != "" {
		t.Errorf("the self link has another order:\n%s", diff)
	}
	for name, c := range map[string]call{
		"stored order":            {url: "/v2/content/filters/" + filterUUID("shuffled"), token: "ro", want: map[string]string{"Cache-Control": "private, no-store"}},
		"stored order, overruled": {url: "/v2/content/filters/" + filterUUID("shuffled") + "?sort_by=id:asc", token: "ro", want: map[string]string{"Cache-Control": "~public"}, lacks: []string{"seed="}},
		"collection":              {url: "/v1/ugc/collections/12/", token: "ro", want: map[string]string{"Cache-Control": "private, no-store"}},
		"collection with seed":    {url: "/v1/ugc/collections/12/?seed=any+text", token: "ro", want: map[string]string{"Cache-Control": "~public"}},
	} {
		t.Run(name, func(t *testing.T) { on := *a; on.t = t; on.do(c) })
	}
}

// TestCursorByRelevance checks that the cursor of a list by relevance stays valid, and continues after its item while items are added. A
// page that was not modified must have the same next page.
func TestCursorByRelevance(t *testing.T) {
	a := newApp(t)
	first := call{url: q("beach sunset", "page_size=2"), token: "ro"}
	whole := a.do(first)
	next := whole.link(t, "next")
	a.clock.Advance(time.Hour)
	a.do(call{url: first.url, token: "ro", header: map[string]string{"If-None-Match": whole.header.Get("ETag")}, status: 304})
	second := a.do(call{url: next, token: "ro"})
	if again := a.do(first); again.link(t, "next") != next {
		t.Errorf("the same version leads to %s and to %s", next, again.link(t, "next"))
	}
	a.write(shop, `{"id":9001,"content":{"content_type":"text","text":"forest"}}`)
	a.clock.Advance(time.Hour)
	if got, want := a.do(call{url: next, token: "ro"}).ids(t), second.ids(t); !slices.Equal(got, want) {
		t.Errorf("after a write the cursor leads to %v, want %v", got, want)
	}
	// The cursor is valid only for its own listing.
	other := a.do(call{url: q("*:*", "page_size=2"), token: "ro"}).link(t, "next")
	u, err := url.Parse(other)
	if err != nil {
		t.Fatal(err)
	}
	a.do(call{url: q("beach", "cursor="+u.Query().Get("cursor")), token: "ro", status: 400, contains: []string{"problems/cursor-unusable"}})
}
