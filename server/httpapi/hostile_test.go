package httpapi_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestHostileQueries sends queries that are expensive, or that a library could fail to translate. make opensearch runs this test with the
// library on OpenSearch, too. A library may refuse such a query with 400, but it must not fail. Every library
// must refuse patterns that take OpenSearch too long.
func TestHostileQueries(t *testing.T) {
	numbered := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+" ", i)
		}
		return b.String()
	}
	rep := strings.Repeat
	queries := map[string]string{
		"many prefixes":           rep("a* ", 500),
		"many different prefixes": numbered("w%d*", 500),
		"many words":              numbered("w%d", 1024),
		"many ids":                "id:(" + numbered("%d", 1000) + ")",
		"many tags":               numbered("tags.ns%d:a*", 500),
		"many submission members": numbered("submission.f%d:a*", 500),
		"many wildcards":          rep("*a* ", 500),
		"many fuzzy words":        rep("beach~2 ", 500),
		"many phrases":            rep(`"a b"~9 `, 500),
		"many ranges":             rep("[a TO b] ", 500),
		"many patterns of fields": rep(`tags.\*:a* `, 100),
		"many negations":          rep("-a* ", 500),
		"one long word":           rep("a", 8000),
		"one long keyword":        "author.username:" + rep("a", 8000),
		"one long prefix":         rep("a", 8000) + "*",
		"one long phrase":         `"` + rep("a ", 900) + `"`,
		"asterisks":               rep("a*", 500),
		"asterisks in a keyword":  "author.username:" + rep("a*", 500),
		"asterisks in a tag":      "tags.marketer_tags.key:" + rep("a*", 500),
		"more asterisks":          rep("a*", 1000),
		"wildcards":               rep("?*", 500),
		"counted letters":         "/" + rep("a{2,5}", 500) + "/",
		"optional letters":        "/" + rep("a?", 1500) + "/",
		"repeated letters":        "/" + rep("a+", 1500) + "/",
		"nested repetitions":      "/" + rep("(", 50) + "a" + rep("b)+", 50) + "/",
		"exponential":             "/(a|b)*a(a|b){30}/",
		"nested expressions":      "/" + rep("(a", 300) + rep(")*", 300) + "/",
		"intersections":           "/" + rep("(.*a&", 20) + "a" + rep(")", 20) + "/",
		"parentheses":             rep("(", 100) + "a" + rep(")", 100),
		"negated parentheses":     rep("NOT (", 100) + "a" + rep(")", 100),
		"boosts":                  "a^1e300 " + rep("(", 20) + "a" + rep(")^1e30", 20),
		"a slop":                  `"a b"~999999999`,
		"dates":                   "created_on:[0001-01-01 TO 9999-12-31]",
		"numbers":                 "author.id:[-9223372036854775808 TO 9223372036854775807]",
		"controls":                "a\x00b \u202e\u2066 👨‍👩‍👧‍👦* İ*",
	}
	refused := []string{"more asterisks", "counted letters", "optional letters", "repeated letters", "nested repetitions"}
	// The race detector makes the compilation of these patterns ten times slower. The same function compiles them for all paths.
	large := append([]string{"wildcards", "asterisks", "asterisks in a tag", "asterisks in a keyword"}, refused...)
	a := newApp(t)
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		t.Run(name, func(t *testing.T) {
			on := *a
			on.t = t
			paths := []string{
				"/v2/content/items?sort_by=created_on:desc&q=", "/v2/content/items?q=", "/v2/content/items/explain?ugc_id=1001&q=", "/v2/content/facets?field=tags&q=", "/v2/content/changes?q=",
				"/v2/content/compare?from_q=a&q=", "/v2/content/filters/4242?additional_query=", "/v2/content/bulk?q=",
			}
			if slices.Contains(large, name) {
				paths = paths[:2]
			}
			for _, path := range paths {
				got := on.send(call{url: path + url.QueryEscape(queries[name]), token: "rw"})
				if got.status == 200 && !slices.Contains(refused, name) {
					continue
				}
				if kind, _ := got.member(t, "type").(string); got.status != 400 || !strings.HasSuffix(kind, "/syntax-error") && !strings.HasSuffix(kind, "/query-too-expensive") {
					t.Errorf("%s: status %d: %.300s", path, got.status, got.body)
				}
			}
		})
	}
}
