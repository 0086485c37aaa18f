package httpapi_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
)

// TestLimitsOfIds checks that the server accepts and returns exactly the ids that openapi.json and the docs promise.
func TestLimitsOfIds(t *testing.T) {
	a := newApp(t)
	item64 := document(t).doc.Components.Schemas["Item"].Value
	for path, c := range map[string]struct {
		line  string // of an import; %s stands for the id
		limit int64
	}{
		"id":                {`{"id":%s,"content":{"content_type":"text","text":"a"}}`, item.MaxID},
		"campaign":          {`{"campaign":%s,"content":{"content_type":"text","text":"a"}}`, item.MaxID},
		"hashtag.id":        {`{"hashtag":{"id":%s,"hashtag_text":"x"},"content":{"content_type":"text","text":"a"}}`, math.MaxInt64},
		"content.author.id": {`{"content":{"content_type":"text","text":"a","author":{"id":%s}}}`, math.MaxInt64},
		"content.media.id":  {`{"content":{"content_type":"text","text":"a","media":{"id":%s}}}`, math.MaxInt64},
	} {
		schema := item64
		for name := range strings.SplitSeq(path, ".") {
			schema = schema.Properties[name].Value
		}
		if c.limit == item.MaxID {
			if schema.Max == nil || *schema.Max != item.MaxID {
				t.Errorf("%s: openapi.json lacks the maximum 2^53-1", path)
			}
		} else if schema.Max != nil || !strings.Contains(schema.Description, "2^63-1") || !strings.Contains(schema.Description, "JavaScript") {
			t.Errorf("%s: openapi.json says %v, %q", path, schema.Max, schema.Description)
		}
		over := a.do(call{method: "POST", url: "/v2/content/bulk", token: "rw", body: fmt.Sprintf(c.line, fmt.Sprint(uint64(c.limit)+1))})
		if !strings.Contains(string(over.body), `"status":422`) && !strings.Contains(string(over.body), `"status":400`) {
			t.Errorf("%s above the limit: %s", path, over.body)
		}
		if path == "id" {
			continue // no id is left to assign after the highest one
		}
		id := int64(a.do(call{method: "POST", url: "/v2/content/bulk", token: "rw", body: fmt.Sprintf(c.line, fmt.Sprint(c.limit))}).member(t, "id").(float64))
		a.do(call{url: fmt.Sprint("/v2/content/", id), token: "rw", contains: []string{fmt.Sprintf(`:%d,`, c.limit)}})
		if c.limit > item.MaxID {
			field := strings.TrimPrefix(path, "content.")
			a.do(call{url: q(fmt.Sprintf("%s:%d", field, c.limit)), token: "rw", contains: []string{`"total_results":1,`}})
			a.do(call{url: q(fmt.Sprintf("%s:%d", field, c.limit-1)), token: "rw", contains: []string{`"total_results":0,`}})
		}
	}
	for _, page := range []string{"http-api.md", "connect-an-app.md"} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil || !strings.Contains(string(text), "2^63-1") {
			t.Errorf("docs/%s does not mention ids up to 2^63-1 (%v)", page, err)
		}
	}
}
