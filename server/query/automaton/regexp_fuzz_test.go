package automaton_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// randomPattern returns a pattern that means the same in Lucene and, enclosed in (?s)^…$, in Go.
func randomPattern(rng *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{"a", "b", "c", ".", "[ab]", "[^a]", `\.`, "é", "[é-東]", `\d`, `\w`, "1"}[rng.IntN(12)]
	}
	inner := func() string { return randomPattern(rng, depth-1-rng.IntN(depth)) }
	switch rng.IntN(4) {
	case 0:
		return inner() + inner()
	case 1:
		return "(" + inner() + "|" + inner() + ")"
	case 2:
		return "(" + inner() + ")" + []string{"*", "+", "?", "{2}", "{1,3}", "{0,2}", "{1,}"}[rng.IntN(7)]
	default:
		return "(" + inner() + ")"
	}
}

// TestRegexpAgainstGo compares which terms random patterns match with the results of Go's regexp.
func TestRegexpAgainstGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	terms := []string{""}
	for range 80 {
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteRune([]rune("aabbc1.é東\n")[rng.IntN(10)])
		}
		terms = append(terms, b.String())
	}
	for range 2000 {
		pattern := randomPattern(rng, 4)
		judge := regexp.MustCompile("(?s)^(?:" + pattern + ")$")
		both := judge // Go has no intersections, so a term must match two expressions
		if rng.IntN(3) == 0 {
			other := randomPattern(rng, 3)
			both = regexp.MustCompile("(?s)^(?:" + other + ")$")
			pattern = "(" + pattern + ")&(" + other + ")"
		}
		a, err := automaton.Regexp(pattern)
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		for _, term := range terms {
			if got, want := automaton.Match(a, term), judge.MatchString(term) && both.MatchString(term); got != want {
				t.Fatalf("%q accepts %q: %v, want %v", pattern, term, got, want)
			}
		}
	}
}

// FuzzRegexp searches for patterns for which Regexp neither succeeds nor returns a documented error.
func FuzzRegexp(f *testing.F) {
	for _, seed := range []string{"", "a", "(a|b)*", "[^a-c]{2,3}", `\d+"x"`, "a{1000}{1000}", "((((", "]]]", "#+{0,}?", "[]-a]", `\`, "a++++", "東[é-東]*", "@&<1-20>é", "(a&b)*", "&&", "<9-10"} {
		f.Add(seed, "aé")
	}
	f.Fuzz(func(t *testing.T, pattern, term string) {
		if len(pattern) > 200 || !utf8.ValidString(pattern) {
			return
		}
		a, err := automaton.Regexp(pattern)
		var syntax *automaton.SyntaxError
		switch {
		case err == nil:
			automaton.Match(a, term)
		case errors.As(err, &syntax):
			if n := utf8.RuneCountInString(pattern); syntax.Offset < 0 || syntax.Offset > n {
				t.Errorf("%q: offset %d of %d characters", pattern, syntax.Offset, n)
			}
		case !errors.Is(err, automaton.ErrTooComplex):
			t.Errorf("%q: %v", pattern, err)
		}
	})
}

func BenchmarkRegexp(b *testing.B) {
	for b.Loop() {
		if _, err := automaton.Regexp("(summer|winter)[a-z]{0,8}.*"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	a, err := automaton.Wildcard("*summ?r*")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		automaton.Match(a, "indiansummers")
	}
}

func BenchmarkDistance(b *testing.B) {
	for b.Loop() {
		automaton.Distance("sunglasses", "sunglases", 2)
	}
}

func BenchmarkTooComplex(b *testing.B) {
	for b.Loop() {
		if _, err := automaton.Regexp("(a|b)*a(a|b){14}"); err == nil {
			b.Fatal("accepted")
		}
	}
}
