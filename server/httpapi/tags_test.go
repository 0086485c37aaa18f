package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
)

func TestAddTag(t *testing.T) {
	post := func(body string, status int, contains ...string) call {
		return call{method: "POST", url: "/v1/tags/", token: "rw", body: body, status: status, contains: contains}
	}
	a := newApp(t)
	many := "[" + strings.TrimSuffix(strings.Repeat("1001,", 10001), ",") + "]"
	a.table(t, map[string]call{
		"one":                 post(`{"ugc_ids":[1002],"namespace":"marketer_tags","key":"winter"}`, 201, `{"namespace":"marketer_tags","key":"winter","ugc_ids":[1002]}`),
		"without slash":       {method: "POST", url: "/v1/tags", token: "rw", body: `{"ugc_ids":[1002],"namespace":"a","key":"b"}`, status: 201},
		"several, one twice":  post(`{"ugc_ids":[1003,1004,1003],"namespace":"own space","key":"x"}`, 201, `"ugc_ids":[1003,1004]`),
		"whole floats":        post(`{"ugc_ids":[1003.0,1.004e3],"namespace":"floats","key":"x"}`, 201, `"ugc_ids":[1003,1004]`),
		"hashtags":            post(`{"ugc_ids":[1003],"namespace":"hashtags","key":"beach_2027"}`, 201),
		"ids missing":         post(`{"namespace":"n","key":"k"}`, 400, "problems/invalid-body", `"member":"ugc_ids"`),
		"ids null":            post(`{"ugc_ids":null,"namespace":"n","key":"k"}`, 400, `"member":"ugc_ids"`),
		"ids empty":           post(`{"ugc_ids":[],"namespace":"n","key":"k"}`, 400, `"member":"ugc_ids"`),
		"ids a number":        post(`{"ugc_ids":1001,"namespace":"n","key":"k"}`, 400, `"member":"ugc_ids"`),
		"ids of text":         post(`{"ugc_ids":["1001"],"namespace":"n","key":"k"}`, 400, `"member":"ugc_ids"`),
		"ids of null":         post(`{"ugc_ids":[null],"namespace":"n","key":"k"}`, 400, `"member":"ugc_ids"`),
		"ids not whole":       post(`{"ugc_ids":[1001.5],"namespace":"n","key":"k"}`, 400, `"member":"ugc_ids"`),
		"ids too many":        post(`{"ugc_ids":`+many+`,"namespace":"n","key":"k"}`, 422, `"member":"ugc_ids"`),
		"namespace missing":   post(`{"ugc_ids":[1001],"key":"k"}`, 400, `"member":"namespace"`),
		"namespace blank":     post(`{"ugc_ids":[1001],"namespace":" ","key":"k"}`, 400, `"member":"namespace"`),
		"namespace ugc":       post(`{"ugc_ids":[1001],"namespace":"ugc","key":"k"}`, 422, "problems/unacceptable", `"member":"namespace"`),
		"namespace slash":     post(`{"ugc_ids":[1001],"namespace":"a/b","key":"k"}`, 422, `"member":"namespace"`),
		"namespace dot":       post(`{"ugc_ids":[1001],"namespace":"a.b","key":"k"}`, 422),
		"namespace long":      post(`{"ugc_ids":[1001],"namespace":"`+strings.Repeat("n", 64)+`","key":"k"}`, 422),
		"key missing":         post(`{"ugc_ids":[1001],"namespace":"n"}`, 400, `"member":"key"`),
		"key of a wrong type": post(`{"ugc_ids":[1001],"namespace":"n","key":["k"]}`, 400, `"member":"key"`),
		"key in capitals":     post(`{"ugc_ids":[1001],"namespace":"n","key":"Summer"}`, 422, "problems/unacceptable", `"member":"key"`),
		"key with digits":     post(`{"ugc_ids":[1001],"namespace":"n","key":"summer1"}`, 422),
		"key with accents":    post(`{"ugc_ids":[1001],"namespace":"n","key":"été"}`, 422),
		"key long":            post(`{"ugc_ids":[1001],"namespace":"n","key":"`+strings.Repeat("k", 65)+`"}`, 422),
		"one unknown":         post(`{"ugc_ids":[1001,17,1002,18],"namespace":"half","key":"done"}`, 422, `"unknown_ids":[17,18]`, "17, 18"),
		"impossible ids":      post(`{"ugc_ids":[1001,0,-5,17,9007199254740992],"namespace":"half","key":"done"}`, 422, `"unknown_ids":[0,-5,9007199254740992,17]`),
		"beyond 64 bits":      post(`{"ugc_ids":[1e300],"namespace":"half","key":"done"}`, 422, `contains 1e300, but an id must be from 1 to 2^53-1`),
		"not json":            post(`{`, 400, "problems/invalid-body"),
		"get":                 {url: "/v1/tags/", token: "rw", status: 405},
	})
	a.steps(
		call{url: "/v1/tags/half/done/", token: "rw", status: 404}, // no item was tagged
		call{url: "/v1/tags/own%20space/x/", token: "ro", ids: []item.ID{1004, 1003}, contains: []string{`"namespace":"own space","key":"x"`}},
		call{url: q("tags.marketer_tags.key:winter"), token: "ro", ids: []item.ID{1002}},
	)
}

// TestTagLimits checks the errors for an item with too many tags. The error names the tag and the limit, and in an import, it concerns only
// one line.
func TestTagLimits(t *testing.T) {
	a := newApp(t)
	// spread returns the member "tags" with n tags, 90 in each namespace.
	spread := func(n int) string {
		var b strings.Builder
		for i := range n {
			switch {
			case i == 0:
				b.WriteString(`{"s0":[`)
			case i%90 == 0:
				fmt.Fprintf(&b, `],"s%d":[`, i/90)
			default:
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"%c%c"`, 'a'+i%90/26, 'a'+i%90%26)
		}
		return b.String() + `]}`
	}
	line := func(id, tags int) string {
		return fmt.Sprintf(`{"id":%d,"content":{"content_type":"text","text":"x"},"tags":%s}`, id, spread(tags)) + "\n"
	}
	limit := fmt.Sprintf("an item can have at most %d tags of its own", item.MaxTags)
	a.steps(
		call{
			method: "POST", url: "/v2/content/bulk", token: "rw", body: line(5001, item.MaxTags) + line(5002, item.MaxTags+1) + line(5003, 1),
			contains: []string{`{"line":1,"status":201,`, `{"line":2,"status":422,`, "the tag s2:cy is one too many: " + limit, `"member":"tags.s2"`, `{"line":3,"status":201,`},
		},
		call{
			method: "POST", url: "/v2/content/", token: "rw", body: `{"content_type":"text","caption":"x","tags":` + spread(item.MaxTags+1) + `}`,
			status: 422, contains: []string{"problems/unacceptable", `"member":"tags.s2"`, limit},
		},
		call{
			method: "POST", url: "/v1/tags/", token: "rw", body: `{"ugc_ids":[1001,5001],"namespace":"vibe","key":"bold"}`,
			status: 422, contains: []string{"problems/unacceptable", `"member":"tags.vibe"`, "item 5001: the tag vibe:bold is one too many: " + limit},
		},
		call{url: q("tags.vibe:bold"), token: "ro", ids: []item.ID{}},
		call{url: q("tags.s0:aa"), token: "ro", ids: []item.ID{5003, 5001}},
	)
}

func TestTagLife(t *testing.T) {
	a := newApp(t)
	tag := func(id, status int) call {
		return call{method: "POST", url: "/v1/tags/", token: "rw", body: fmt.Sprintf(`{"ugc_ids":[%d],"namespace":"marketer_tags","key":"hero"}`, id), status: status}
	}
	a.steps(
		// 1003 has the tag from a manifest, so the server refuses to remove it, and nothing changes.
		call{method: "DELETE", url: "/v1/tags/marketer_tags/hero/1003", token: "rw", status: 403, contains: []string{"problems/managed", "managed by Tag shop/hero"}},
		call{url: "/v1/tags/marketer_tags/hero/", token: "ro", ids: []item.ID{1007, 1003}},
		// After a caller also adds the tag to 1003 over HTTP, the item has the tag from two sources. The request removes only the source
		// over HTTP, so the item keeps the tag.
		tag(1003, 201),
		tag(1003, 201),
		call{url: "/v1/tags/marketer_tags/hero/", token: "ro", ids: []item.ID{1007, 1003}},
		call{method: "DELETE", url: "/v1/tags/marketer_tags/hero/1003", token: "rw", status: 204},
		call{url: "/v1/tags/marketer_tags/hero/", token: "ro", ids: []item.ID{1007, 1003}},
		call{method: "DELETE", url: "/v1/tags/marketer_tags/hero/1003", token: "rw", status: 403},
		// A tag that only HTTP set can be removed once.
		tag(1005, 201),
		call{url: "/v1/tags/marketer_tags/hero/", token: "ro", ids: []item.ID{1007, 1005, 1003}},
		call{method: "DELETE", url: "/v1/tags/marketer_tags/hero/1005/", token: "rw", status: 204},
		call{method: "DELETE", url: "/v1/tags/marketer_tags/hero/1005", token: "rw", status: 404, contains: []string{"problems/not-found"}},
		// A selector adds this tag only to 1002.
		call{method: "DELETE", url: "/v1/tags/kinds/video/1002", token: "rw", status: 403},
		call{method: "DELETE", url: "/v1/tags/kinds/video/1001", token: "rw", status: 404},
		call{method: "DELETE", url: "/v1/tags/kinds/video/17", token: "rw", status: 404},
		call{method: "DELETE", url: "/v1/tags/kinds/video/abc", token: "rw", status: 404},
		call{method: "DELETE", url: "/v1/tags/kinds/video/99999999999999999999", token: "rw", status: 404},
		call{method: "DELETE", url: "/v1/tags/kinds/NoKey/1001", token: "rw", status: 404},
		// The tag is still known after it was removed from its last item.
		call{method: "POST", url: "/v1/tags/", token: "rw", body: `{"ugc_ids":[1001],"namespace":"short","key":"lived"}`, status: 201},
		call{method: "DELETE", url: "/v1/tags/short/lived/1001", token: "rw", status: 204},
		call{url: "/v1/tags/short/lived/", token: "ro", ids: []item.ID{}, contains: []string{`"namespace":"short","key":"lived"`, `"total_results":0`}},
	)
}

func TestTagged(t *testing.T) {
	newApp(t).table(t, map[string]call{
		"newest first":   {url: "/v1/tags/marketer_tags/summer/?page_size=3", token: "ro", ids: []item.ID{1056, 1051, 1046}, contains: []string{`"total_results":12`, `"ugc:tags":[{`, `"namespace":"marketer_tags","key":"summer"`}},
		"without slash":  {url: "/v1/tags/marketer_tags/summer?page_size=1", token: "ro", ids: []item.ID{1056}},
		"by rule":        {url: "/v1/tags/kinds/video/?page_size=2", token: "ro", ids: []item.ID{1059, 1056}},
		"hashtag":        {url: "/v1/tags/hashtags/beach_2026/?page_size=2", token: "ro", ids: []item.ID{1055, 1046}},
		"made, unused":   {url: "/v1/tags/kinds/unused/", token: "ro", ids: []item.ID{}},
		"never made":     {url: "/v1/tags/kinds/never/", token: "ro", status: 404, contains: []string{"problems/not-found"}},
		"no such key":    {url: "/v1/tags/kinds/NOT%20A%20KEY/", token: "ro", status: 404},
		"escaped":        {url: "/v1/tags/%6Darketer_tags/s%75mmer/?page_size=1", token: "ro", ids: []item.ID{1056}},
		"slash in a key": {url: "/v1/tags/kinds/a%2Fb/", token: "ro", status: 404},
		"all at once":    {url: "/v1/tags/marketer_tags/summer/", token: "ro", lacks: []string{`"next"`}},
		"size 501":       {url: "/v1/tags/marketer_tags/summer/?page_size=501", token: "ro", status: 400},
		"page 0":         {url: "/v1/tags/marketer_tags/summer/?page=0", token: "ro", status: 400},
		"past the last":  {url: "/v1/tags/marketer_tags/summer/?page=2", token: "ro", ids: []item.ID{}},
		"links":          {url: "/v1/tags/marketer_tags/summer?page_size=3", token: "ro", contains: []string{`"self":{"href":"/base/v1/tags/marketer_tags/summer/?page_size=3"}`}},
	})
}

func TestItemTags(t *testing.T) {
	newApp(t).table(t, map[string]call{
		"several": {url: "/v1/tags/ugc/1001/", token: "ro", ids: []item.ID{1001}, contains: []string{
			`{"total_results":2,"_embedded":{"ugc":[{"id":1001,`, `"namespace":"hashtags","key":"beach_2026","tags":[{"namespace":"hashtags","key":"beach_2026"},{"namespace":"marketer_tags","key":"summer"}]`,
			`"_links":{"self":{"href":"/base/v1/tags/ugc/1001/"}}`,
		}},
		"without slash": {url: "/v1/tags/ugc/1001", token: "ro", ids: []item.ID{1001}},
		"by manifest":   {url: "/v1/tags/ugc/1003/", token: "ro", contains: []string{`"tags":[{"namespace":"marketer_tags","key":"hero"}]`}},
		"by rule":       {url: "/v1/tags/ugc/1002/", token: "ro", contains: []string{`"namespace":"kinds","key":"video"`}},
		"none":          {url: "/v1/tags/ugc/1004/", token: "ro", contains: []string{`"total_results":0`, `"namespace":"","key":"","tags":[]`}},
		"unknown":       {url: "/v1/tags/ugc/17/", token: "ro", status: 404, contains: []string{"problems/not-found"}},
		"no number":     {url: "/v1/tags/ugc/abc/", token: "ro", status: 404},
		"zero":          {url: "/v1/tags/ugc/0/", token: "ro", status: 404},
		"2^70":          {url: "/v1/tags/ugc/1180591620717411303424/", token: "ro", status: 404},
		"read-write":    {url: "/v1/tags/ugc/1001/", token: "rw", contains: []string{`"submission":{`}},
	})
}

func TestUnits(t *testing.T) {
	sandals, boots := fmt.Sprint(unitID("sandals")), fmt.Sprint(unitID("boots"))
	a := newApp(t)
	a.table(t, map[string]call{
		"all": {url: "/v1/activate_units/", token: "ro", contains: []string{
			`{"total_results":2,"_embedded":{"activate_unit:item":[{"id":`, `"name":"Shop the sandals"`, `"name":"Shop the boots"`, `"archived":true`, `"catalog_item":{"size":42}`, `"associated_contents":[]`,
			`"_links":{"self":{"href":"/base/v1/activate_units/"}`,
		}},
		"without slash":         {url: "/v1/activate_units", token: "ro"},
		"one":                   {url: "/v1/activate_units/" + sandals, token: "ro", contains: []string{`[{"id":` + sandals + `,"name":"Shop the sandals"`, `"external_id":"SKU-1"`, `"managed":true`}},
		"one with slash":        {url: "/v1/activate_units/" + boots + "/", token: "rw", contains: []string{`"archived":true`}},
		"unknown":               {url: "/v1/activate_units/17", token: "ro", status: 404, contains: []string{"problems/not-found"}},
		"no number":             {url: "/v1/activate_units/sandals", token: "ro", status: 404},
		"the null unit":         {url: "/v1/activate_units/0", token: "ro", status: 404},
		"in items":              {url: q("activate_units.id:" + sandals), token: "ro", ids: []item.ID{1002, 1001}},
		"default everywhere":    {url: q("id:1004"), token: "ro", contains: []string{`"activate_units":[],"default_activate_unit":{"id":` + sandals}},
		"archived, not default": {url: q("id:1031"), token: "ro", contains: []string{`"activate_units":[{"id":` + boots, `"default_activate_unit":{"id":` + sandals}},
		"none in a property":    {url: q("id:7001"), token: "other-ro", contains: []string{`"default_activate_unit":{"id":0,"name":"none"`}},
	})
}
