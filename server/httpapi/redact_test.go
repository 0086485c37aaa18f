package httpapi

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRedactPartsLeavesNoTellingPart draws texts from pieces of a token: whatever stands in a row in both, and is long
// enough to tell, has to go, and a text that shares less stays as it is.
func TestRedactPartsLeavesNoTellingPart(t *testing.T) {
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
