package httpapi_test

import (
	"bytes"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCacheControl(t *testing.T) {
	const public = "public, max-age=60, stale-while-revalidate=300, stale-if-error=300"
	cached := func(value string) map[string]string {
		return map[string]string{"Cache-Control": value, "Vary": "Accept-Encoding, Origin, Authorization"}
	}
	newApp(t).table(t, map[string]call{
		"read-only, query":         {url: q("id:1001"), token: "ro", want: cached(public)},
		"read-only, bearer":        {url: q("id:1001"), bearer: "ro", want: cached("private" + strings.TrimPrefix(public, "public"))},
		"read-only, both":          {url: q("id:1001"), token: "ro", bearer: "ro", want: cached("private" + strings.TrimPrefix(public, "public"))},
		"read-write, query":        {url: q("id:1001"), token: "rw", want: cached("private, no-store")},
		"read-write, bearer":       {url: q("id:1001"), bearer: "rw", want: cached("private, no-store")},
		"the property's own times": {url: q("id:8001"), token: "limited-ro", want: cached("public, max-age=10, stale-while-revalidate=20, stale-if-error=20")},
		"units":                    {url: "/v1/activate_units/", token: "ro", want: cached(public)},
		"single item":              {url: "/v1/ugc/1001/", token: "ro", want: cached(public)},
		"error":                    {url: q("(broken"), token: "ro", status: 400, want: cached("private, no-store")},
		"not found":                {url: "/v1/ugc/17/", token: "ro", status: 404, want: cached("private, no-store")},
		"openapi":                  {url: "/openapi.json", want: cached(public)},
		"short link":               {url: "/i/code1001", status: 302, want: cached(public)},
		"filter info":              {url: "/v2/content/filters/" + filterUUID("summer-wall") + "?info=1", token: "ro", want: cached(public)},
		// Item 1060 is exactly a day old when the test begins. In 30 s, it is too old for the range of the query.
		"a page with an expiry": {url: q("created_on:[now-86430s TO *]"), token: "ro", want: cached("public, max-age=30, stale-while-revalidate=300, stale-if-error=300")},
	})
}

// tagged lists GET requests whose ETags the tests check.
var tagged = []string{
	q("*:*"), q("*:*", "sort_by=random", "seed=1"), "/v2/content/filters/" + filterUUID("summer-wall"), "/v2/content/filters/" + filterUUID("summer-wall") + "?info=1",
	"/v2/content/filters", "/v2/content/filters/4242/explain?ugc_id=1003", "/v2/content/items/explain?q=beach&ugc_id=1001", "/v2/content/compare?q=beach", "/v2/content/1001",
	facets("tags", "q=*:*"), suggestURL("tags.marketer_tags:|"), "/v2/content/refine?q=a&field=id&value=1", "/v2/content/items/1001/sources", "/v2/content/definitions?kind=tag", statusURL, manifestURL("summer-wall"), "/v1/tags/marketer_tags/summer/", "/v1/tags/ugc/1001/", "/v1/activate_units/", "/v1/ugc/1001/", "/v1/ugc/collections/12/?seed=1", "/openapi.json",
}

func TestETag(t *testing.T) {
	a := newApp(t, withManifests)
	for _, url := range tagged {
		t.Run(url, func(t *testing.T) {
			on := *a
			on.t = t
			with := func(h ...string) call {
				c := call{url: url, token: "rw", header: map[string]string{}}
				if url == "/openapi.json" {
					c.token = ""
				}
				for i := 0; i < len(h); i += 2 {
					c.header[h[i]] = h[i+1]
				}
				return c
			}
			expect := func(c call, status int) answer {
				t.Helper()
				c.status = status
				return on.do(c)
			}
			plain := expect(with(), 200)
			tag := plain.header.Get("ETag")
			if len(tag) < 5 || tag[0] != '"' || tag[len(tag)-1] != '"' {
				t.Fatalf("ETag %q is not strong", tag)
			}
			for _, held := range []string{tag, "W/" + tag, `"other", ` + tag, `"a,b" ,W/` + tag + `, "c"`, "*"} {
				got := expect(with("If-None-Match", held), 304)
				if len(got.body) > 0 || got.header.Get("ETag") != tag || got.header.Get("Cache-Control") == "" || got.header.Get("Vary") == "" {
					t.Errorf("304 for %s: %v %q", held, got.header, got.body)
				}
			}
			for _, held := range []string{`"other"`, "", strings.Trim(tag, `"`), `"` + strings.Trim(tag, `"`) + `x"`, `"unclosed`} {
				expect(with("If-None-Match", held), 200)
			}
			head := with("If-None-Match", tag)
			head.method = "HEAD"
			expect(head, 304)

			zipped := expect(with("Accept-Encoding", "br, gzip"), 200)
			zipTag := zipped.header.Get("ETag")
			if zipTag == tag || zipped.header.Get("Content-Encoding") != "gzip" {
				t.Errorf("gzip: ETag %s as without, or Content-Encoding %q", zipTag, zipped.header.Get("Content-Encoding"))
			}
			if !bytes.Equal(zipped.body, plain.body) {
				t.Error("gzip: another body")
			}
			expect(with("Accept-Encoding", "gzip", "If-None-Match", zipTag), 304)
			// The ETag of the other content coding does not match.
			expect(with("Accept-Encoding", "gzip", "If-None-Match", tag), 200)
			expect(with("If-None-Match", zipTag), 200)
		})
	}
}

// TestETagDiffers checks that the ETag changes whenever the bytes of the response may change.
func TestETagDiffers(t *testing.T) {
	a := newApp(t, withManifests)
	tagOf := func(c call) string {
		t.Helper()
		return a.do(c).header.Get("ETag")
	}
	seen := map[string]string{}
	differs := func(what string, c call) {
		t.Helper()
		tag := tagOf(c)
		if before, ok := seen[tag]; ok {
			t.Errorf("%s has the ETag of %s", what, before)
		}
		seen[tag] = what
	}
	same := func(what string, c call) {
		t.Helper()
		if tag := tagOf(c); seen[tag] == "" {
			t.Errorf("%s changed the ETag", what)
		}
	}
	list := call{url: q("approval_status:app"), token: "ro"}
	differs("the list", list)
	same("asking again", list)
	differs("the private reading", call{url: list.url, token: "rw"})
	differs("another page", call{url: list.url + "&page=2", token: "ro"})
	differs("another size", call{url: list.url + "&page_size=2", token: "ro"})
	differs("another order", call{url: list.url + "&sort_by=id:asc", token: "ro"})
	differs("another query", call{url: q("approval_status:rej"), token: "ro"})
	differs("one seed", call{url: list.url + "&sort_by=random&seed=1", token: "ro"})
	differs("another seed", call{url: list.url + "&sort_by=random&seed=2", token: "ro"})
	differs("no seed", call{url: list.url + "&sort_by=random", token: "ro"})
	differs("no seed again", call{url: list.url + "&sort_by=random", token: "ro"})
	a.do(call{method: "PATCH", url: "/v2/content/1001", token: "rw", body: `{"featured":false}`})
	differs("the list after a write", list)
	wall := call{url: "/v2/content/filters/" + filterUUID("summer-wall"), token: "ro"}
	differs("the filter", wall)
	changed := manifestFilter("summer-wall", "approval_status:rej", "created_on:desc", true)
	a.apply(changed)
	differs("the filter with another query", wall)
	now := call{url: q("created_on:[now-60d TO *]"), token: "ro"}
	differs("a query with now", now)
	a.clock.Advance(48 * time.Hour)
	differs("a query with now, two days on", now)
}

func TestGzip(t *testing.T) {
	a := newApp(t, withManifests)
	for accept, zipped := range map[string]bool{
		"":                         false,
		"gzip":                     true,
		"GZIP":                     true,
		"x-gzip":                   true,
		"deflate, gzip;q=0.5, br":  true,
		"gzip;q=0":                 false,
		"gzip; q=0.000":            false,
		"*":                        true,
		"*;q=0":                    false,
		"gzip;q=0, *":              false,
		"*, gzip;q=0":              false,
		"identity":                 false,
		"br":                       false,
		"gzip;q=nonsense":          false,
		"gzipped":                  false,
		"identity;q=0.5, gzip;q=1": true,
	} {
		got := a.do(call{url: q("*:*"), token: "ro", header: map[string]string{"Accept-Encoding": accept}})
		if (got.header.Get("Content-Encoding") == "gzip") != zipped {
			t.Errorf("Accept-Encoding %q: Content-Encoding %q", accept, got.header.Get("Content-Encoding"))
		}
	}
	plain, zipped := httptest.NewRecorder(), httptest.NewRecorder()
	c := call{url: q("*:*"), token: "ro"}
	a.server.ServeHTTP(plain, c.request())
	c.header = map[string]string{"Accept-Encoding": "gzip"}
	a.server.ServeHTTP(zipped, c.request())
	if zipped.Body.Len()*3 > plain.Body.Len() {
		t.Errorf("gzip makes %d bytes of %d", zipped.Body.Len(), plain.Body.Len())
	}
	if again := httptest.NewRecorder(); !slices.Equal(zipped.Body.Bytes(), func() []byte { a.server.ServeHTTP(again, c.request()); return again.Body.Bytes() }()) {
		t.Error("one ETag, two gzip streams")
	}
}
