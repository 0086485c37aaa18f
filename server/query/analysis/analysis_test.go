package analysis_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

func tokenLine(position int, text string) string { return fmt.Sprintf("%d %s", position, text) }

func TestAnalyzeOffsets(t *testing.T) {
	got := analysis.Analyze("Été, İN 東京 👍🏽!")
	want := []analysis.Token{
		{Text: "été", Position: 0, Start: 0, End: 5},
		{Text: "in", Position: 1, Start: 7, End: 10},
		{Text: "東", Position: 2, Start: 11, End: 14},
		{Text: "京", Position: 3, Start: 14, End: 17},
		{Text: "👍🏽", Position: 4, Start: 18, End: 26},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenUTF8(t *testing.T) {
	got := analysis.Analyze("a\xffb \xe6\x9d \xf0\x9f\x98 c")
	want := []analysis.Token{{Text: "a", Start: 0, End: 1}, {Text: "b", Position: 1, Start: 2, End: 3}, {Text: "c", Position: 2, Start: 11, End: 12}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzAnalyze checks the invariants of Analyze for any text.
func FuzzAnalyze(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 8))
	parts := []string{"a", "Z", "9", "_", ".", ",", "'", "\"", ":", "א", "ア", "ひ", "漢", "ไท", "ย์", "한국", "़", "\u200d", "\ufe0f", "\u20e3", "#", "🇫", "👍", "🏽", "ℹ", " ", "\xff", "\U000E0067", "\U000E007F"}
	for range 300 {
		var b strings.Builder
		for range 1 + rng.IntN(12) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		f.Add(b.String())
	}
	f.Add(strings.Repeat("long", 300) + strings.Repeat("😀", 300) + strings.Repeat("à", 300))
	f.Fuzz(func(t *testing.T, text string) {
		tokens := analysis.Analyze(text)
		if got, want := analysis.HasWord(text), len(tokens) > 0; got != want {
			t.Errorf("%q: HasWord is %v with %d tokens", text, got, len(tokens))
		}
		last := 0
		words, ends := analysis.AppendWords([]byte("before"), nil, text)
		if len(ends) != len(tokens) {
			t.Fatalf("%q: %d words appended of %d", text, len(ends), len(tokens))
		}
		if got := string(analysis.AppendKeyword(nil, text)); got != analysis.Keyword(text) {
			t.Errorf("%q: keyword %q appended", text, got)
		}
		begin := len("before")
		for i, tok := range tokens {
			if got := string(words[begin:ends[i]]); got != tok.Text {
				t.Errorf("%q: word %q appended for %q", text, got, tok.Text)
			}
			begin = ends[i]
			if tok.Position != i || tok.Start < last || tok.End <= tok.Start || tok.End > len(text) {
				t.Fatalf("%q: token %d is %+v after %d", text, i, tok, last)
			}
			last = tok.End
			if got := analysis.Keyword(text[tok.Start:tok.End]); got != tok.Text {
				t.Errorf("%q: token %q for the text %q", text, tok.Text, got)
			}
			if n := len(utf16.Encode([]rune(tok.Text))); n > 255 {
				t.Errorf("%q: a token of %d UTF-16 units", text, n)
			}
			if !utf8.ValidString(tok.Text) {
				t.Errorf("%q: token %q is not UTF-8", text, tok.Text)
			}
			// Analyzing a word must return the same word, so that a query for a word of an item matches the item.
			if again := analysis.Analyze(tok.Text); len(again) != 1 || again[0].Text != tok.Text {
				t.Errorf("%q: token %q becomes %+v", text, tok.Text, again)
			}
		}
	})
}

func BenchmarkAnalyze(b *testing.B) {
	texts := map[string]string{
		"English":  "Somehow I was blessed with some really amazing friends in my life who love me and send encouragement.",
		"Japanese": "日本の夏は暑いです。東京タワーからの眺めは最高でした。また来年も行きたいと思います。",
		"Emoji":    "Best day ever 😍😍👩‍👩‍👧‍👦 #summer 🇫🇷🇩🇪 1️⃣",
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				analysis.Analyze(text)
			}
		})
	}
}
