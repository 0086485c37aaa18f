package contentdiff

import (
	"bytes"
	"strings"
	"testing"
)

// TestMarkdownEscapesContent checks that content in the Markdown has neither control characters nor additional lines.
func TestMarkdownEscapesContent(t *testing.T) {
	const hostile = "fine\x1b[2J\n# forged\u202eesrever"
	var b bytes.Buffer
	Markdown(&b, []Change{
		{Kind: "ContentFilter", Name: "shop/wall", State: New, After: Version{Query: hostile, Order: hostile, FavoriteTag: hostile}, Enter: Items{Total: 1, First: []Item{{ID: 1, Text: hostile}}}},
		{Kind: "AccessToken", Name: "shop/" + hostile, State: Failed, Problem: hostile},
	})
	got := b.String()
	if strings.ContainsAny(got, "\x1b\u202e") || strings.Contains(got, "\n# forged") || strings.Count(got, `fine\x1b[2J`) != 6 {
		t.Errorf("%s", got)
	}
}
