package querystring_test

import (
	"testing"

	"github.com/vitrine-dev/vitrine/hack/querystring"
	"github.com/vitrine-dev/vitrine/server/query"
)

// FuzzRewrite checks that the rewritten text of every valid query is a valid query, and that rewriting it again changes nothing. The test
// sets Options.AllField to query.AllField, because the second rewriting would treat another name of this field as unknown.
func FuzzRewrite(f *testing.F) {
	for _, q := range []string{
		`approval_status:(app,pen) AND -_missing_:media`, `created_on:[now-1M/M TO 2024]^2`, `author.\*:(a b "c d"~2)`, `_exists_:tags.*`, `text:\>a\-b OR x`,
		`campaign:>"5" featured:true _all:/a.c/ l\u006f?e*`, `content.platform_data.geo_data.coordinates.latitude:"-0"`, `all:x _id:5 ...:y`, "text:[a\tTO\tc]",
	} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		parsed, err := query.Parse(q)
		if err != nil {
			return
		}
		if _, err := query.Check(parsed.Root, query.Private); err != nil {
			return
		}
		for _, source := range []string{q, ""} {
			sent, err := querystring.Rewrite(parsed.Root, querystring.Options{Now: now, Source: source, AllField: query.AllField})
			if err != nil {
				t.Fatalf("%q: %v", q, err)
			}
			again, err := query.Parse(sent)
			if err != nil {
				if len(sent) > query.MaxLength {
					return
				}
				t.Fatalf("%q is sent as %q: %v", q, sent, err)
			}
			twice, err := querystring.Rewrite(again.Root, querystring.Options{Now: now, Source: sent, AllField: query.AllField})
			if err != nil || twice != sent {
				t.Fatalf("%q is sent as %q, and that as %q, %v", q, sent, twice, err)
			}
		}
	})
}
