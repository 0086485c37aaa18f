package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
)

func TestAddItem(t *testing.T) {
	post := func(body string, status int, contains ...string) call {
		return call{method: "POST", url: "/v2/content/", token: "rw", body: body, status: status, contains: contains}
	}
	a := newApp(t)
	a.table(t, map[string]call{
		"image":                   post(`{"content_type":"image","content_url":"https://img.example/a.jpg"}`, 201, `"content_type":"image"`, `"approval_status":"pen"`, `"large_image":"https://img.example/a.jpg"`),
		"video":                   post(`{"content_type":"video","content_url":"https://img.example/a.mp4","video_thumbnail":"https://img.example/a.png","approval_status":"app"}`, 201, `"approval_status":"app"`),
		"text":                    post(`{"content_type":"text","caption":"hello"}`, 201, `"text":"hello"`, `"default_activate_unit":{"id":`+fmt.Sprint(unitID("sandals"))),
		"without slash":           {method: "POST", url: "/v2/content", token: "rw", body: `{"content_type":"text","caption":"hello"}`, status: 201},
		"submission":              post(`{"content_type":"text","caption":"a","submission":{"username":"jo","email":"jo@mail.example","size":"42"}}`, 201, `"submission":{"email":"jo@mail.example","size":"42","username":"jo"}`, `"claimed":false`),
		"tags":                    post(`{"content_type":"text","caption":"a","tags":{"hashtags":["#Beach_26"],"marketer_tags":["hero"],"own":["mine"]}}`, 201, `"hashtag_text":"beach_26"`),
		"author":                  post(`{"content_type":"text","caption":"a","author":{"username":"ann","author_ref":"ref-1"}}`, 201, `"username":"ann"`, `"platform_id":"ref-1"`),
		"escapes":                 post(`{"content_type":"text","caption":"</script> & \u2028"}`, 201, `\u003c/script\u003e & \u2028`),
		"unknown member":          post(`{"content_type":"text","caption":"a","colour":"blue"}`, 201),
		"not json":                post(`content_type=text`, 400, "problems/invalid-body"),
		"empty":                   post(``, 400, "problems/invalid-body"),
		"type missing":            post(`{"caption":"a"}`, 400, `"member":"content_type"`),
		"type blank":              post(`{"content_type":" ","caption":"a"}`, 400, `"member":"content_type"`),
		"type a number":           post(`{"content_type":5}`, 400, `"member":"content_type"`),
		"type unknown":            post(`{"content_type":"sound"}`, 422, "problems/unacceptable", `"member":"content_type"`),
		"text without caption":    post(`{"content_type":"text"}`, 422, `"member":"caption"`),
		"image without url":       post(`{"content_type":"image"}`, 422, `"member":"content_url"`),
		"video without thumbnail": post(`{"content_type":"video","content_url":"https://img.example/a.mp4"}`, 422, `"member":"video_thumbnail"`),
		"relative url":            post(`{"content_type":"image","content_url":"/a.jpg"}`, 422, `"member":"content_url"`),
		"script url":              post(`{"content_type":"image","content_url":"javascript:alert(1)"}`, 422),
		"status unknown":          post(`{"content_type":"text","caption":"a","approval_status":"maybe"}`, 422, `"member":"approval_status"`),
		"tags of a wrong type":    post(`{"content_type":"text","caption":"a","tags":["x"]}`, 400, `"member":"tags"`),
		"tag key in capitals":     post(`{"content_type":"text","caption":"a","tags":{"marketer_tags":["Summer"]}}`, 422),
		"reserved namespace":      post(`{"content_type":"text","caption":"a","tags":{"ugc":["x"]}}`, 422),
		"submission of a number":  post(`{"content_type":"text","caption":"a","submission":{"age":5}}`, 400),
		"too large":               post(`{"content_type":"text","caption":"`+strings.Repeat("a", 1<<20)+`"}`, 413, "problems/too-large"),
		"caption too long":        post(`{"content_type":"text","caption":"`+strings.Repeat("a", 65<<10)+`"}`, 422),
	})

	made := a.do(post(`{"content_type":"text","caption":"findable words","submission":{"username":"kim","email":"kim@mail.example"},"tags":{"marketer_tags":["fresh"]}}`, 201))
	id := int64(made.member(t, "id").(float64))
	if id <= 1060 {
		t.Errorf("id %d is not above the imported ones", id)
	}
	location := made.header.Get("Location")
	if want := fmt.Sprintf("/base/v1/ugc/%d/", id); location != want {
		t.Errorf("Location %q, want %q", location, want)
	}
	a.steps(
		call{url: strings.TrimPrefix(location, "/base"), token: "ro", lacks: []string{"submission", "kim@"}},
		call{url: q("findable", "sort_by=id:desc"), token: "ro", ids: []item.ID{id}},
		call{url: "/v1/tags/marketer_tags/fresh/", token: "ro", ids: []item.ID{id}},
		call{url: q("submission.email:kim@mail.example"), token: "rw", ids: []item.ID{id}},
	)
}

func TestGetItem(t *testing.T) {
	a := newApp(t)
	a.table(t, map[string]call{
		"read-only":      {url: "/v2/content/1001", token: "ro", contains: []string{`{"id":1001,`}, lacks: []string{"submission"}, want: map[string]string{"Content-Type": "application/json"}},
		"read-write":     {url: "/v2/content/1001/", token: "rw", contains: []string{`{"id":1001,`, "person0@mail.example"}},
		"by a manifest":  {url: "/v2/content/1001", token: "ro", contains: []string{`"activate_units":[{"id":` + fmt.Sprint(unitID("sandals"))}},
		"head":           {method: "HEAD", url: "/v2/content/1001", token: "ro", want: map[string]string{"ETag": `~"`}},
		"unknown":        {url: "/v2/content/17", token: "ro", status: 404, contains: []string{"no item of this property has the id 17"}},
		"item 0":         {url: "/v2/content/0", token: "ro", status: 404},
		"item 2^60":      {url: "/v2/content/1152921504606846976", token: "ro", status: 404},
		"not an id":      {url: "/v2/content/abc", token: "ro", status: 400, contains: []string{`"parameter":"id"`}},
		"another method": {method: "PUT", url: "/v2/content/1001", token: "rw", status: 405, want: map[string]string{"Allow": "DELETE, GET, HEAD, OPTIONS, PATCH"}},
	})
	listed := a.do(call{url: q("id:1001"), token: "rw"})
	if one := a.do(call{url: "/v2/content/1001", token: "rw"}); !strings.Contains(string(listed.body), string(one.body)) {
		t.Errorf("the item is %s, and in a list %s", one.body, listed.body)
	}
}

func TestPatchItem(t *testing.T) {
	patch := func(id, body string, status int, contains ...string) call {
		return call{method: "PATCH", url: "/v2/content/" + id, token: "rw", body: body, status: status, contains: contains}
	}
	a := newApp(t)
	sandals, boots := fmt.Sprint(unitID("sandals")), fmt.Sprint(unitID("boots"))
	a.table(t, map[string]call{
		"status":           patch("1010", `{"approval_status":"rej"}`, 200, `"id":1010`, `"approval_status":"rej"`),
		"with slash":       patch("1010/", `{"featured":true}`, 200, `"featured":true`),
		"several":          patch("1011", `{"featured":true,"campaign":99,"claimed":true,"entry_confirmation_sent":true}`, 200, `"campaign":99`, `"claimed":true`),
		"units":            patch("1012", `{"activate_units":[`+boots+`,`+sandals+`]}`, 200, `"activate_units":[{"id":`+boots),
		"no units":         patch("1013", `{"activate_units":[]}`, 200, `"activate_units":[]`),
		"text":             patch("1014", `{"content":{"text":"other words"}}`, 200, `"text":"other words"`),
		"submission merge": patch("1007", `{"submission":{"age":null,"size":"42"}}`, 200, `"size":"42"`, "person6@mail.example"),
		"configuration":    patch("1016", `{"configuration":{"a":[1,2]}}`, 200, `"configuration":{"a":[1,2]}`),
		"nothing":          patch("1017", `{}`, 200),
		"unknown member":   patch("1017", `{"id":5,"colour":"blue"}`, 200, `"id":1017`),
		"unknown unit":     patch("1018", `{"activate_units":[17]}`, 422, "problems/unacceptable", `"member":"activate_units"`),
		"unknown status":   patch("1018", `{"approval_status":"maybe"}`, 422, `"member":"approval_status"`),
		"wrong type":       patch("1018", `{"featured":"yes"}`, 400, `"member":"featured"`),
		"not json":         patch("1018", `featured`, 400, "problems/invalid-body"),
		"unknown item":     patch("17", `{"featured":true}`, 404, "problems/not-found"),
		"item 0":           patch("0", `{"featured":true}`, 404),
		"item -1":          patch("-1", `{"featured":true}`, 404),
		"item 2^60":        patch("1152921504606846976", `{"featured":true}`, 404),
		"text id":          patch("abc", `{"featured":true}`, 400, `"parameter":"id"`),
		"too large":        patch("1018", `{"configuration":"`+strings.Repeat("x", 1<<20)+`"}`, 413),
	})
	a.steps(
		call{url: q("campaign:99"), token: "ro", ids: []item.ID{1011}},
		call{url: q("other words"), token: "ro", contains: []string{`"id":1014`}},
		call{url: "/v1/ugc/1018/", token: "ro", contains: []string{`"approval_status":"app"`}},
	)
}

func TestEraseItem(t *testing.T) {
	a := newApp(t)
	a.steps(
		call{method: "DELETE", url: "/v2/content/1001", token: "rw", status: 204, want: map[string]string{"Content-Type": ""}},
		call{url: "/v1/ugc/1001/", token: "rw", status: 404, contains: []string{"no item of this property has the id 1001"}},
		call{url: q("id:1001"), token: "rw", ids: []item.ID{}},
		call{url: "/v1/tags/ugc/1001/", token: "rw", status: 404},
		call{url: "/i/code1001", status: 404},
		call{url: "/v2/content/filters/" + filterUUID("summer-wall"), token: "ro", ids: []item.ID{1046, 1041, 1026, 1021, 1006}},
		call{method: "DELETE", url: "/v2/content/1001/", token: "rw", status: 404},
		call{method: "DELETE", url: "/v2/content/abc", token: "rw", status: 400},
		call{method: "DELETE", url: "/v2/content/99999999999999999999", token: "rw", status: 404},
	)
}

func TestShortLinks(t *testing.T) {
	a := newApp(t)
	a.table(t, map[string]call{
		"approved":              {url: "/i/code1001", status: 302, want: map[string]string{"Location": "https://social.example/1001"}},
		"with slash":            {url: "/i/code1001/", status: 302, want: map[string]string{"Location": "https://social.example/1001"}},
		"head":                  {method: "HEAD", url: "/i/code1001", status: 302, want: map[string]string{"Location": "https://social.example/1001"}},
		"rejected":              {url: "/i/code1003", status: 404, contains: []string{"problems/not-found"}},
		"pending":               {url: "/i/code1004", status: 404},
		"no original":           {url: "/i/code1006", status: 404}, // an approved text
		"unknown":               {url: "/i/nothing", status: 404},
		"with an invalid token": {url: "/i/code1001", token: "never-issued", status: 302},
		"no post":               {method: "POST", url: "/i/code1001", status: 405},
		"other property":        {url: "/i/limited1", status: 302, want: map[string]string{"Location": "https://social.example/l", "Cache-Control": "public, max-age=10, stale-while-revalidate=20, stale-if-error=20"}},
	})
	a.do(call{method: "PATCH", url: "/v2/content/1001", token: "rw", body: `{"approval_status":"rej"}`})
	a.do(call{url: "/i/code1001", status: 404})

	a.do(call{method: "POST", url: "/v2/content/bulk", token: "rw", body: `{"approval_status":"app","short_code":"odd","content":{"content_type":"image",` +
		`"platform_data":{"social_platform_original_url":"https://social.example/ü%20?q=\"><svg>"}}}`})
	a.do(call{url: "/i/odd", status: 302, want: map[string]string{"Location": "https://social.example/%C3%BC%20?q=%22%3E%3Csvg%3E"}})
}

func TestExplain(t *testing.T) {
	wall := "/v2/content/filters/" + filterUUID("summer-wall") + "/explain"
	newApp(t).table(t, map[string]call{
		"in a filter":          {url: wall + "?ugc_id=1001", token: "rw", contains: []string{`"ugc_id":1001`, `"matched":true`, "marketer_tags", `"occur":"must"`}},
		"not in a filter":      {url: wall + "?ugc_id=1002", token: "rw", contains: []string{`{"ugc_id":1002,"matched":false`}},
		"filter by id":         {url: fmt.Sprintf("/v2/content/filters/%d/explain/?ugc_id=1001", filterID("summer-wall")), token: "rw"},
		"with more query":      {url: wall + "?ugc_id=1001&additional_query=campaign:13", token: "rw", contains: []string{`"matched":false`}},
		"matches a query":      {url: "/v2/content/items/explain?q=beach&ugc_id=1001", token: "rw", contains: []string{`"matched":true`, `"score":`}},
		"does not match":       {url: "/v2/content/items/explain?q=id:1002&ugc_id=1001", token: "rw", contains: []string{`"matched":false`}},
		"boost beyond float32": {url: "/v2/content/items/explain?q=(beach+sunset)^300000000000000000000000000000000000000+beach^300000000000000000000000000000000000000&ugc_id=1001", token: "rw", contains: []string{`"matched":true`}},
		"boost too large":      {url: "/v2/content/items/explain?q=beach^99999999999999999999999999999999999999999999&ugc_id=1001", token: "rw", status: 400},
		"unknown item":         {url: wall + "?ugc_id=17", token: "rw", status: 404, contains: []string{"problems/not-found"}},
		"item 2^70":            {url: wall + "?ugc_id=1180591620717411303424", token: "rw", status: 400},
		"unknown filter":       {url: "/v2/content/filters/17/explain?ugc_id=1001", token: "rw", status: 404},
		"ugc_id missing":       {url: wall, token: "rw", status: 400, contains: []string{"problems/missing-parameter", `"parameter":"ugc_id"`}},
		"ugc_id text":          {url: wall + "?ugc_id=abc", token: "rw", status: 400, contains: []string{"problems/invalid-parameter"}},
		"q missing":            {url: "/v2/content/items/explain?ugc_id=1001", token: "rw", status: 400, contains: []string{`"parameter":"q"`}},
		"q broken":             {url: "/v2/content/items/explain?q=(&ugc_id=1001", token: "rw", status: 400, contains: []string{"problems/syntax-error"}},
		"additional broken":    {url: wall + "?ugc_id=1001&additional_query=(", token: "rw", status: 400, contains: []string{`"parameter":"additional_query"`}},
	})
}
