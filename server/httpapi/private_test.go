package httpapi_test

import (
	"fmt"
	"net/url"
	"regexp"
	"testing"

	"github.com/vitrine-dev/vitrine/server/query"
)

// TestSubmissionsDoNotAffectPublicResponses compares two servers whose items differ only in their submissions. READ-ONLY callers must get
// the same responses from both, for any field in queries and orders.
func TestSubmissionsDoNotAffectPublicResponses(t *testing.T) {
	with, without := newApp(t), newApp(t)
	for i, submission := range []string{"", `,"submission":{"username":"jo","email":"jo@mail.example","size":"42"}`, `,"submission":{"email":"al@mail.example"}`} {
		body := fmt.Sprintf(`{"content_type":"text","caption":"mark %d","content_ref":"ref-%d","author":{"username":"ann","author_ref":"a-%d"}`, i, i, i)
		with.do(call{method: "POST", url: "/v2/content/", token: "other-rw", body: body + submission + "}", status: 201})
		without.do(call{method: "POST", url: "/v2/content/", token: "other-rw", body: body + "}", status: 201})
	}
	for _, a := range []*app{with, without} {
		a.do(call{method: "PATCH", url: "/v2/content/7004", token: "other-rw", body: `{"submission":null}`})
	}

	// drawn matches the parts of responses that are random, or sealed with a key of the server.
	drawn := regexp.MustCompile(`/i/[0-9A-Za-z]{10}"|cursor=[0-9A-Za-z_-]+`)
	queries := []string{
		q("*:*"), q("submission:*"), q("submission.email:*"), q("*name:jo"), q("su*on.*:*"), q("42"), facets("tags", "q=*:*"), facets("tags", "q=*:*", "prefix=j"),
		"/v2/content/7002", "/v2/content/7003", "/v2/content/7004", "/v1/ugc/7002/", "/v1/tags/ugc/7002/",
		suggestURL("jo|"), suggestURL("subm|"), suggestURL("submission.|"), suggestURL("submission.email:|"), suggestURL("submission.email:j|"),
		suggestURL(`submission.username:"j|`), suggestURL("_exists_:subm|"), suggestURL("tags.|"), suggestURL("*|", "sort_by=submission.size:asc"),
		suggestURL("@jo|"), suggestURL("#jo|"), suggestURL("mail|"), suggestURL("42|"), suggestURL("jon mail|"), suggestURL("mial|"), suggestURL("jo and al|"),
	}
	for _, f := range query.Fields() {
		name := url.QueryEscape(f.Name)
		queries = append(queries, facets(f.Name, "q=*:*"), q("_exists_:"+f.Name), q("_missing_:"+f.Name), q("*:*", "sort_by="+name+":asc"))
		for _, prefix := range []string{"j", "4", "a"} {
			queries = append(queries, facets(f.Name, "q=*:*", "prefix="+prefix), suggestURL(f.Name+":"+prefix+"|"))
		}
	}
	for _, private := range []string{"submission.email", "submission.size", "submission"} {
		with.do(call{url: facets(private, "q=*:*", "prefix=4"), token: "other-ro", status: 403})
	}
	// READ-WRITE callers must see the values.
	with.do(call{url: suggestURL("submission.size:4|"), token: "other-rw", contains: []string{`"text":"42"`}})
	with.do(call{url: "/v2/content/7003", token: "other-rw", contains: []string{"jo@mail.example"}})
	compared := 0
	for _, u := range queries {
		got, want := with.send(call{url: u, token: "other-ro"}), without.send(call{url: u, token: "other-ro"})
		if got.status == 200 {
			compared++
		}
		if a, b := drawn.ReplaceAllString(string(got.body), ""), drawn.ReplaceAllString(string(want.body), ""); got.status != want.status || a != b {
			t.Errorf("%s: %d\n%s\nwithout submissions: %d\n%s", u, got.status, a, want.status, b)
		}
	}
	if compared < len(queries)/2 {
		t.Errorf("%d of %d queries were answered: too few to compare", compared, len(queries))
	}
}
