package httpapi_test

import "testing"

// TestRepeatedMembers checks every body that the server parses.
func TestRepeatedMembers(t *testing.T) {
	refused := func(method, url, body, key string) call {
		return call{method: method, url: url, token: "rw", body: body, status: 400, contains: []string{"problems/invalid-body", `two members with the name \"` + key + `\", at byte `}}
	}
	a := newApp(t)
	version := a.lib.State(t.Context()).Version
	a.table(t, map[string]call{
		"add":           refused("POST", "/v2/content/", `{"content_type":"text","caption":"a","caption":"b"}`, "caption"),
		"submission":    refused("POST", "/v2/content/", `{"content_type":"text","caption":"a","submission":{"email":"a","email":"b"}}`, "email"),
		"tags":          refused("POST", "/v2/content/", `{"content_type":"text","caption":"a","tags":{"n":["a"],"n":["b"]}}`, "n"),
		"patch":         refused("PATCH", "/v2/content/1001", `{"approval_status":"app","approval_status":"rej"}`, "approval_status"),
		"configuration": refused("PATCH", "/v2/content/1001", `{"configuration":{"a":[{"b":1,"b":2}]}}`, "b"),
		"create filter": refused("POST", "/v2/content/filters", `{"name":"x","q":"a","sort_by":"id:asc","q":"b"}`, "q"),
		"change filter": refused("PUT", "/v2/content/filters?filter_id="+madeUUID, `{"q":"a","sort_by":"id:asc","sort_by":"id:desc"}`, "sort_by"),
		"tag":           refused("POST", "/v1/tags/", `{"ugc_ids":[1001],"namespace":"n","key":"k","ugc_ids":[1002]}`, "ugc_ids"),
		"unknown":       refused("POST", "/v1/tags/", `{"ugc_ids":[1001],"namespace":"n","key":"k","x":{"y":1,"y":1}}`, "y"),
	})
	if a.lib.State(t.Context()).Version != version {
		t.Error("a refused body has changed the library")
	}
	a.do(call{method: "POST", url: "/v2/content/bulk", token: "rw",
		body:     `{"id":5001,"content":{"content_type":"text","text":"a"},"id":5002}` + "\n" + `{"id":5003,"content":{"content_type":"text","text":"a"}}` + "\n",
		contains: []string{`{"line":1,"status":400`, `two members with the name \"id\", at byte 56`, `{"line":2,"status":201,"id":5003}`}})
}

// TestHashtagsInAnyCase checks that a hashtag can be named as a person writes it.
func TestHashtagsInAnyCase(t *testing.T) {
	a := newApp(t)
	a.do(call{method: "POST", url: "/v2/content/", token: "rw", body: `{"content_type":"text","caption":"a","approval_status":"app","tags":{"hashtags":["Straße_X"]}}`, status: 201})
	a.do(call{method: "POST", url: "/v1/tags/", token: "rw", body: `{"ugc_ids":[1001],"namespace":"hashtags","key":"#STRAßE_X"}`, status: 201, contains: []string{`"key":"straße_x"`}})
	for _, url := range []string{"/v1/tags/hashtags/STRA%C3%9FE_x/", "/v1/tags/hashtags/%23stra%C3%9Fe_X/", "/v1/tags/hashtags/stra%C3%9Fe_x/"} {
		a.do(call{url: url, token: "ro", contains: []string{`"total_results":2`, `"key":"straße_x"`}})
	}
	a.do(call{url: q("*:*", "favorite_tag=hashtags:Stra%C3%9Fe_X"), token: "ro"})
	a.do(call{method: "DELETE", url: "/v1/tags/hashtags/Stra%C3%9Fe_X/1001", token: "rw", status: 204})
	a.do(call{url: "/v1/tags/marketer_tags/SUMMER/", token: "ro", status: 404})
}
