package httpapi_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// tagOf returns the ETag of a response to a READ-WRITE caller, without quotes.
func (a *app) tagOf(url string) string {
	a.t.Helper()
	return strings.Trim(a.do(call{url: url, token: "rw"}).header.Get("ETag"), `"`)
}

// conditionals are the requests that change something with an ETag, and the URLs of the ETags.
var conditionals = map[string]struct {
	write call
	shown string
	// dated is true if the time of the last change is known.
	dated bool
}{
	"patch":         {call{method: "PATCH", url: "/v2/content/1001", body: `{"campaign":77}`}, "/v2/content/1001", false},
	"erase":         {call{method: "DELETE", url: "/v2/content/1001", status: 204}, "/v1/ugc/1001/", false},
	"change filter": {call{method: "PUT", url: fmt.Sprint("/v2/content/filters?filter_id=", madeID), body: `{"q":"campaign:77","sort_by":"id:desc"}`, status: 204}, "/v2/content/filters/" + madeUUID + "?info=1", true},
	"delete filter": {call{method: "DELETE", url: "/v2/content/filters/" + madeUUID, status: 204}, "/v2/content/filters/" + madeUUID + "?info=1", true},
}

// TestConditions sends each request that changes something with an ETag under conditions. In the headers, TAG stands for the current ETag
// without quotes, and GZIP for that of the representation in gzip.
func TestConditions(t *testing.T) {
	const (
		holds = 0
		fails = http.StatusPreconditionFailed
		wrong = http.StatusBadRequest
	)
	const before, after = "Sat, 21 Nov 2026 11:59:59 GMT", "Sat, 21 Nov 2026 12:00:00 GMT"
	type condition struct {
		headers []string // names and values
		status  int
	}
	cases := []condition{
		{nil, holds},
		{[]string{"If-Match", `"TAG"`}, holds},
		{[]string{"If-Match", `"GZIP"`}, holds},
		{[]string{"If-Match", `*`}, holds},
		{[]string{"If-Match", ` * `}, holds},
		{[]string{"If-Match", `"stale", "TAG"`}, holds},
		{[]string{"If-Match", `W/"weak","a,b" ,, "TAG",`}, holds},
		{[]string{"If-Match", `"stale"`, "If-Match", `"TAG"`}, holds},
		{[]string{"If-Match", `"stale"`}, fails},
		{[]string{"If-Match", `"stale", "older"`}, fails},
		{[]string{"If-Match", `W/"TAG"`}, fails},
		{[]string{"If-Match", `"2TAG"`}, fails},
		{[]string{"If-Match", `""`}, fails},
		{[]string{"If-Match", ``}, fails},
		{[]string{"If-Match", `TAG`}, wrong},
		{[]string{"If-Match", `"stale", TAG`}, wrong},
		{[]string{"If-Match", `"TAG`}, wrong},
		{[]string{"If-Match", `"TAG" "stale"`}, wrong},
		{[]string{"If-Match", `"TAG", *`}, wrong},
		{[]string{"If-Match", `w/"TAG"`}, wrong},
		{[]string{"If-None-Match", `*`}, fails},
		{[]string{"If-None-Match", `"TAG"`}, fails},
		{[]string{"If-None-Match", `"other", W/"TAG"`}, fails},
		{[]string{"If-None-Match", `"GZIP"`}, fails},
		{[]string{"If-None-Match", `"stale"`}, holds},
		{[]string{"If-None-Match", `stale`}, wrong},
		{[]string{"If-Match", `"TAG"`, "If-None-Match", `*`}, fails},
		{[]string{"If-Match", `"TAG"`, "If-None-Match", `"stale"`}, holds},
		{[]string{"If-Unmodified-Since", after}, holds},
		{[]string{"If-Unmodified-Since", "yesterday"}, holds},
		{[]string{"If-Unmodified-Since", before, "If-Match", `"TAG"`}, holds},
	}
	if os.Getenv("VITRINE_TEST_LIBRARY") == "opensearch" {
		// Each write needs a new library, which takes a second on OpenSearch. The syntax of conditions does not depend on the library.
		cases = slices.DeleteFunc(cases, func(c condition) bool { return c.status == holds && len(c.headers) > 0 && c.headers[1] != `"TAG"` })
	}
	for name, of := range conditionals {
		t.Run(name, func(t *testing.T) {
			last := condition{[]string{"If-Unmodified-Since", before}, holds}
			if of.dated {
				last.status = fails
			}
			var a *app
			for _, c := range append(slices.Clone(cases), last) {
				if a == nil {
					a = newApp(t)
				}
				a.t = t
				tag := a.tagOf(of.shown)
				write := of.write
				write.token = "rw"
				r := write.request()
				for i := 0; i < len(c.headers); i += 2 {
					r.Header.Add(c.headers[i], strings.NewReplacer("TAG", tag, "GZIP", tag+"-gzip").Replace(c.headers[i+1]))
				}
				version := a.lib.State(t.Context()).Version
				got := a.serve(r)
				want := c.status
				if want == holds {
					want = max(write.status, 200)
				}
				if got.status != want {
					t.Errorf("%q: status %d, want %d: %s", c.headers, got.status, want, got.body)
				}
				if changed := a.lib.State(t.Context()).Version != version; changed != (got.status < 300) {
					t.Errorf("%q: status %d, but the library has changed: %v", c.headers, got.status, changed)
				}
				if got.status < 300 {
					a = nil // the next case needs the initial state
				}
			}
		})
	}
}

// TestConditionsOfAbsent checks that conditions do not replace the response for an object that does not exist (RFC 9110, 13.2.1).
func TestConditionsOfAbsent(t *testing.T) {
	stale := map[string]string{"If-Match": `"stale"`}
	newApp(t).table(t, map[string]call{
		"patch":          {method: "PATCH", url: "/v2/content/17", token: "rw", body: `{"campaign":77}`, header: stale, status: 404},
		"erase":          {method: "DELETE", url: "/v2/content/17", token: "rw", header: stale, status: 404},
		"change filter":  {method: "PUT", url: "/v2/content/filters?filter_id=17", token: "rw", body: `{"q":"a","sort_by":"id:asc"}`, header: stale, status: 404},
		"delete filter":  {method: "DELETE", url: "/v2/content/filters/17", token: "rw", header: stale, status: 404},
		"managed filter": {method: "DELETE", url: "/v2/content/filters/" + filterUUID("summer-wall"), token: "rw", header: stale, status: 403},
	})
}

// TestWritesWithoutETag checks that no endpoint that changes something ignores a condition.
func TestWritesWithoutETag(t *testing.T) {
	untagged := map[[2]string]call{
		{"POST", "/v2/content/filters"}:                   {body: `{"name":"x","q":"a","sort_by":"id:asc"}`, status: 201},
		{"POST", "/v2/content"}:                           {body: `{"content_type":"text","caption":"a"}`, status: 201},
		{"POST", "/v1/tags"}:                              {body: `{"ugc_ids":[1001],"namespace":"n","key":"k"}`, status: 201},
		{"DELETE", "/v1/tags/{namespace}/{key}/{ugc_id}"}: {url: "/v1/tags/marketer_tags/summer/1001", status: 204},
		{"POST", "/v2/content/bulk"}:                      {body: `{"content_type":"text","caption":"a"}`},
		{"PATCH", "/v2/content/{id}"}:                     {},
		{"DELETE", "/v2/content/{id}"}:                    {},
		{"PUT", "/v2/content/filters"}:                    {},
		{"DELETE", "/v2/content/filters/{filter_uuid}"}:   {},
	}
	a := newApp(t)
	for _, route := range httpapi.Routes() {
		c, known := untagged[route]
		if route[0] == http.MethodGet || known && c.url == "" && c.body == "" {
			continue // TestConditions tests the routes without a request in the table
		}
		if !known {
			t.Errorf("%v: add the endpoint to this test or to TestConditions", route)
			continue
		}
		c.method, c.token = route[0], "rw"
		if c.url == "" {
			c.url = route[1]
		}
		version := a.lib.State(t.Context()).Version
		for value, status := range map[string]int{`If-Match: "stale"`: 412, `If-Match: ""`: 412, `If-Match: W/"a"`: 412, `If-None-Match: *`: 412, `If-Match: a`: 400} {
			refused := c
			name, of, _ := strings.Cut(value, ": ")
			refused.header, refused.status = map[string]string{name: of}, status
			a.do(refused)
		}
		if a.lib.State(t.Context()).Version != version {
			t.Errorf("%v: a request under a condition that is not met has changed the library", route)
		}
		c.header = map[string]string{"If-Match": "*", "If-None-Match": `"other"`, "If-Unmodified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}
		a.do(c)
	}
}

// TestItemHasOneETag checks that all responses with only one item have the same ETag, and that the tag of one caller is not that of a
// caller who sees other members.
func TestItemHasOneETag(t *testing.T) {
	a := newApp(t)
	added := a.do(call{method: "POST", url: "/v2/content", token: "rw", body: `{"content_type":"text","caption":"a","submission":{"email":"a@mail.example"}}`, status: 201})
	url := fmt.Sprint("/v2/content/", int64(added.member(t, "id").(float64)))
	expect := func(what string, got answer) {
		t.Helper()
		if tag := a.tagOf(url); got.header.Get("ETag") != `"`+tag+`"` {
			t.Errorf("%s: ETag %s, want %s", what, got.header.Get("ETag"), tag)
		}
	}
	expect("the response to POST", added)
	expect("the deprecated endpoint", a.do(call{url: strings.Replace(url, "v2/content", "v1/ugc", 1), token: "rw"}))
	expect("the response to PATCH", a.do(call{method: "PATCH", url: url, token: "rw", body: `{"approval_status":"app"}`}))
	public := a.do(call{url: url, token: "ro"}).header.Get("ETag")
	a.do(call{method: "PATCH", url: url, token: "rw", header: map[string]string{"If-Match": public}, body: `{"campaign":77}`, status: 412})
	a.do(call{method: "PATCH", url: url, token: "rw", body: `{"submission":{"email":"b@mail.example"}}`})
	if now := a.do(call{url: url, token: "ro"}).header.Get("ETag"); now != public {
		t.Error("a READ-ONLY caller sees that the submission has changed")
	}
	created := a.do(call{method: "POST", url: "/v2/content/filters", token: "rw", body: `{"name":"x","q":"a","sort_by":"id:asc"}`, status: 201})
	filter := "/v2/content/filters/" + created.member(t, "filter_uuid").(string)
	changed := a.do(call{method: "PUT", url: "/v2/content/filters?filter_id=" + created.member(t, "filter_uuid").(string), token: "rw",
		header: map[string]string{"If-Match": created.header.Get("ETag")}, body: `{"q":"b","sort_by":"id:asc"}`, status: 204})
	if changed.header.Get("ETag") == created.header.Get("ETag") {
		t.Error("the changed filter has the ETag of the created filter")
	}
	info := a.do(call{url: filter + "?info=1", token: "rw"}).header.Get("ETag")
	a.do(call{method: "POST", url: "/v2/content", token: "rw", body: `{"content_type":"text","caption":"b"}`, status: 201})
	if a.do(call{url: filter + "?info=1", token: "rw"}).header.Get("ETag") == info {
		t.Error("a description with another total has the same ETag")
	}
	for _, tag := range []string{info, changed.header.Get("ETag")} {
		a.do(call{method: "DELETE", url: filter, token: "rw", header: map[string]string{"If-None-Match": tag}, status: 412})
	}
	a.do(call{method: "DELETE", url: filter, token: "rw", header: map[string]string{"If-Match": info}, status: 204})
}

// TestReadOnlyConditions checks that a READ-ONLY caller learns nothing about the ETag of a READ-WRITE caller, which depends on private
// members.
func TestReadOnlyConditions(t *testing.T) {
	a := newApp(t)
	tag := a.tagOf("/v2/content/1001")
	for _, of := range []string{`"` + tag + `"`, `"stale"`, "no tag"} {
		h := map[string]string{"If-Match": of}
		a.do(call{method: "PATCH", url: "/v2/content/1001", token: "ro", header: h, body: `{"campaign":77}`, status: 403})
		a.do(call{method: "DELETE", url: "/v2/content/1001", token: "ro", header: h, status: 403})
	}
	for _, of := range []string{`"` + tag + `"`, `"stale"`} {
		a.do(call{url: "/v2/content/1001", token: "ro", header: map[string]string{"If-Match": of}, status: 412})
	}
}

// TestIfMatchOfReads checks If-Match in requests that read.
func TestIfMatchOfReads(t *testing.T) {
	a := newApp(t)
	for _, url := range []string{"/v2/content/1001", q("*:*"), "/v2/content/filters/" + madeUUID + "?info=1"} {
		tag := a.tagOf(url)
		for value, status := range map[string]int{
			`"` + tag + `"`: 200, `"a", "` + tag + `-gzip"`: 200, "*": 200, `"stale"`: 412, `W/"` + tag + `"`: 412, tag: 400,
		} {
			for _, method := range []string{"GET", "HEAD"} {
				got := a.do(call{method: method, url: url, token: "rw", header: map[string]string{"If-Match": value}, status: status})
				if (got.header.Get("ETag") != "") != (status == 200) {
					t.Errorf("%s %s with If-Match %s: ETag %q", method, url, value, got.header.Get("ETag"))
				}
			}
		}
		a.do(call{url: url, token: "rw", header: map[string]string{"If-Match": `"` + tag + `"`, "If-None-Match": `"` + tag + `"`}, status: 304})
	}
}

// interrupted is a library in which another writer gets in before each of the first writes.
type interrupted struct {
	library.Library
	first []library.Mutation
}

func (l *interrupted) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	if len(l.first) > 0 {
		m := l.first[0]
		l.first = l.first[1:]
		if _, err := l.Library.Write(ctx, p, []library.Mutation{m}); err != nil {
			return nil, err
		}
	}
	return l.Library.Write(ctx, p, muts)
}

// TestConditionAndConcurrentWrite checks that a write between the check of a condition and the conditional write has the same effect as a
// write before the request.
func TestConditionAndConcurrentWrite(t *testing.T) {
	tag := func(key string) library.Mutation {
		return library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: key}, IDs: []item.ID{1001}}
	}
	patch, err := item.ParsePatch([]byte(`{"campaign":78}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		token  string
		first  []library.Mutation
		status int
		want   float64
	}{
		"tags, which a moderator does not see": {"moderator", []library.Mutation{tag("bold"), tag("calm")}, 200, 77},
		"tags, which change last_modified":     {"rw", []library.Mutation{tag("bold")}, 412, 12},
		"a change of the item":                 {"moderator", []library.Mutation{tag("bold"), {Patch: patch, ID: 1001}}, 412, 78},
		"a deletion":                           {"rw", []library.Mutation{{Delete: true, ID: 1001}}, 404, 0},
	} {
		t.Run(name, func(t *testing.T) {
			between := &interrupted{}
			a := newAppOver(t, func(l library.Library) library.Library { between.Library = l; return between })
			a.apply(tokenDefinition(shop, "moderator", library.Token{ReadWrite: true, Allow: []library.Action{library.Moderate}}))
			a.known("moderator")
			header := map[string]string{"If-Match": a.do(call{url: "/v2/content/1001", token: c.token}).header.Get("ETag")}
			between.first = c.first
			a.do(call{method: "PATCH", url: "/v2/content/1001", token: c.token, header: header, body: `{"campaign":77}`, status: c.status})
			if len(between.first) > 0 {
				t.Errorf("%d writes did not happen", len(between.first))
			}
			if c.want == 0 {
				return
			}
			if got := a.do(call{url: "/v2/content/1001", token: "rw"}).member(t, "campaign"); got != c.want {
				t.Errorf("campaign %v, want %v", got, c.want)
			}
		})
	}
}

// TestConcurrentConditions checks that exactly one of 16 writers that saw the same state succeeds.
func TestConcurrentConditions(t *testing.T) {
	a := newApp(t)
	for name, c := range map[string]struct {
		shown string
		write func(n int) call
	}{
		"item": {"/v2/content/1001", func(n int) call {
			return call{method: "PATCH", url: "/v2/content/1001", body: fmt.Sprintf(`{"campaign":%d}`, n)}
		}},
		"filter": {"/v2/content/filters/" + madeUUID + "?info=1", func(n int) call {
			return call{method: "PUT", url: fmt.Sprint("/v2/content/filters?filter_id=", madeID), body: fmt.Sprintf(`{"q":"campaign:%d","sort_by":"id:asc"}`, n)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tag := `"` + a.tagOf(c.shown) + `"`
			for round := range 10 {
				var mu sync.Mutex
				statuses, next := map[int]int{}, ""
				var wg sync.WaitGroup
				for n := range 16 {
					w := c.write(100*(round+1) + n)
					w.token, w.header = "rw", map[string]string{"If-Match": tag}
					wg.Go(func() {
						got := a.send(w)
						mu.Lock()
						defer mu.Unlock()
						if got.status < 300 {
							got.status = http.StatusOK // a PUT returns 204
							next = got.header.Get("ETag")
						}
						statuses[got.status]++
					})
				}
				wg.Wait()
				if want := map[int]int{http.StatusOK: 1, http.StatusPreconditionFailed: 15}; !maps.Equal(statuses, want) {
					t.Fatalf("round %d: responses by status %v, want %v", round, statuses, want)
				}
				tag = next
			}
		})
	}
}
