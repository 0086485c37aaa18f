package httpapi

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// TestRedactPartsRemovesTokens builds random texts from pieces of a token. redactParts must remove all runs of at least tellingPart
// characters that the text and the token have in common, and must not change texts without such runs.
func TestRedactPartsRemovesTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const letters = "ab"
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	for range 2000 {
		token, text := word(32), word(r.IntN(60))
		if n := r.IntN(24); r.IntN(2) == 0 {
			text += token[n:n+tellingPart] + word(r.IntN(5))
		}
		got := redactParts(text, token)
		shared := false
		for i := 0; i+tellingPart <= len(text); i++ {
			shared = shared || strings.Contains(token, text[i:i+tellingPart])
		}
		if !shared && got != text {
			t.Fatalf("%q became %q for token %q, which it shares nothing with", text, got, token)
		}
		for rest := range strings.SplitSeq(got, "[token]") {
			for i := 0; i+tellingPart <= len(rest); i++ {
				if strings.Contains(token, rest[i:i+tellingPart]) {
					t.Fatalf("%q became %q, which still shows %q of token %q", text, got, rest[i:i+tellingPart], token)
				}
			}
		}
	}
}

// TestMayShare checks that mayShare returns true for every text and token that have a run of tellingPart characters in common.
func TestMayShare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abc"[r.IntN(3)]
		}
		return string(b)
	}
	for range 5000 {
		token, text := word(32), word(r.IntN(40))
		for i := 0; i+tellingPart <= len(text); i++ {
			if strings.Contains(token, text[i:i+tellingPart]) && !mayShare(text, token) {
				t.Fatalf("%q and %q share %q", text, token, text[i:i+tellingPart])
			}
		}
	}
}

// TestHide checks that hide removes possible tokens and e-mail addresses from a path, and keeps legitimate path segments.
func TestHide(t *testing.T) {
	const token = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE"
	const uuid = "6f1c2f0e-5b1d-4c53-9b1e-0d1d2c3b4a59"
	tests := map[string]string{
		"/v2/content/filters/" + uuid:                  "/v2/content/filters/" + uuid,
		"/v2/content/filters/" + strings.ToUpper(uuid): "/v2/content/filters/" + strings.ToUpper(uuid),
		"/v2/content/filters/5823445520123":            "/v2/content/filters/5823445520123",
		"/v1/tags/marketer_tags/summer/":               "/v1/tags/marketer_tags/summer/",
		"/nowhere/" + token:                            "/nowhere/[long]",
		"/nowhere/" + token + "/" + uuid:               "/nowhere/[long]/" + uuid,
		"/nowhere/" + uuid + "x":                       "/nowhere/[long]",
		"/nowhere/" + token[:32]:                       "/nowhere/[long]",
		"/nowhere/" + token[:31]:                       "/nowhere/" + token[:31],
		"/v1/tags/a/ann.b@shop.example/1":              "/v1/tags/a/[e-mail]/1",
		"/v1/tags/a/ann%40shop.example":                "/v1/tags/a/[e-mail]",
		"/v1/tags/a/ann%2540shop.example":              "/v1/tags/a/[e-mail]",
		"/v1/tags/a/bücher@шоп.example":                "/v1/tags/a/[e-mail]",
		"/v1/tags/a/@handle":                           "/v1/tags/a/@handle",
	}
	for path, want := range tests {
		if got := hide(path); got != want {
			t.Errorf("%s is logged as %s; want %s", path, got, want)
		}
	}
	for query, want := range map[string]string{
		token + "=1":                "%5Blong%5D=…",
		"ann@shop.example=1&page=2": "%5Be-mail%5D=…&page=2",
		"page=" + token:             "page=%5Blong%5D",
		"sort_by=" + url.QueryEscape("ann@shop.example:asc"): "sort_by=%5Be-mail%5D",
		"filter_id=" + uuid + "&q=x":                         "filter_id=" + uuid + "&q=…",
	} {
		params, _ := url.ParseQuery(query) // ignore the error: params contains the part that can be decoded
		if got := loggable(params); got != want {
			t.Errorf("?%s is logged as %s; want %s", query, got, want)
		}
	}
}
