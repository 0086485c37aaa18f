package automaton_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// TestPrint checks the text that is sent to OpenSearch for a pattern.
func TestPrint(t *testing.T) {
	tests := map[string]struct{ pattern, want string }{
		"empty":                       {"", "()"},
		"letters and digits":          {"aB1é東😀", "aB1é東😀"},
		"white space and controls":    {" \t\n\x00", " \t\n\x00"},
		"quoted":                      {`"a)b"c`, `a\)bc`},
		"complement in Lucene 9":      {"~a", `\~a`},
		"operators without operand":   {"*|?|&", `\*|\?|\&`},
		"other punctuation":           {"^$]},:;'=!%-`_/", "\\^\\$\\]\\}\\,\\:\\;\\'\\=\\!\\%\\-\\`\\_\\/"},
		"classes":                     {`\d\s`, `[0-9][` + "\t-\n\r" + ` ]`},
		"class with punctuation":      {`\w`, `\_|[0-9A-Za-z]`},
		"class with marks as bounds":  {"[!-/0]", `\!|\"|\#|\$|\%|\&|\'|\(|\)|\*|\+|\,|\-|\.|\/|0`},
		"negated class":               {"[^a]", "\\`|\\_|\\^|\\]|\\\\|\\[|[\x00-Zb-\U0010FFFF]"},
		"negated class at surrogates": {"[^b-\uD7FF]", "[\x00-a\uE000-\U0010FFFF]"},
		"any character, any string":   {".@", "..*"},
		"nothing":                     {"#", "a&b"},
		"nothing or something":        {"#|a|#|a", "a"},
		"nothing, optional":           {"#?", "()"},
		"empty strings":               {"()(()|a)()", "()|a"},
		"interval":                    {"<8-12>", "0*([8-9]|1[0-2])"},
		"intersection":                {"a(.b&(c|d).&@|e)f", `a(.b&(c|d).&.*|e)f`},
		"intersection without match":  {"a(b&c|d)", "ad"},
		"repetitions":                 {"(ab)?c*(d|e)+f{2}g{2,}h{2,3}(i{2}){3}j{1}k{0}", "(ab)?c*(d|e)+f{2}g{2,}h{2,3}(i{2}){3}j"},
		"repeated repetition":         {"a+++b+?c*+d??", "a+b*c*d?"},
		"groups that are not needed":  {"((a)((b)c))", "abc"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := automaton.Regexp(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, printed(t, a)); diff != "" {
				t.Error(diff)
			}
			checkPrinted(t, "", a)
		})
	}
}

// TestPrintWildcard checks the text that is sent to OpenSearch for a pattern with wildcards.
func TestPrintWildcard(t *testing.T) {
	for pattern, want := range map[string]string{`a*?\*\?\\b`: `a.*.\*\?\\b`, `***a`: `.*a`, `(a)|b\`: `\(a\)\|b\\`} {
		a, err := automaton.Wildcard(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := printed(t, a); got != want {
			t.Errorf("%s is printed as %s, want %s", pattern, got, want)
		}
		checkPrinted(t, "", a)
	}
}

// printed returns the printed form of an automaton.
func printed(t *testing.T, a automaton.Automaton) string {
	t.Helper()
	e, ok := automaton.Source(a)
	if !ok {
		t.Fatalf("%T has no source", a)
	}
	return e.Print()
}

// checkPrinted checks that the printed form of an automaton after a literal text accepts exactly the text followed by what the automaton
// accepts.
func checkPrinted(t *testing.T, text string, a automaton.Automaton) {
	t.Helper()
	e, _ := automaton.Source(a)
	whole := automaton.Concat(automaton.Literal(text), e).Print()
	again, err := automaton.Regexp(whole)
	if err != nil {
		t.Fatalf("the printed form %q: %v", whole, err)
	}
	s := again.Start()
	for i := range len(text) {
		if again.CanMatch(a.Start()) && again.IsMatch(s) {
			t.Fatalf("the printed form %q accepts %q", whole, text[:i])
		}
		s = again.Accept(s, text[i])
	}
	type pair struct{ a, b int }
	first := pair{a.Start(), s}
	seen, work := map[pair]bool{first: true}, []pair{first}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		if a.CanMatch(at.a) != again.CanMatch(at.b) || a.IsMatch(at.a) != again.IsMatch(at.b) {
			t.Fatalf("the printed form %q does not accept what the pattern accepts", whole)
		}
		if !a.CanMatch(at.a) {
			continue
		}
		for c := range 256 {
			if next := (pair{a.Accept(at.a, byte(c)), again.Accept(at.b, byte(c))}); !seen[next] {
				seen[next] = true
				work = append(work, next)
			}
		}
	}
}

// folded reports whether a character is in lower case.
func folded(r rune) bool { return unicode.ToLower(r) == r }

// TestTrim checks the text for a field that contains only lower-case text.
func TestTrim(t *testing.T) {
	const upper = "[^\x00-@[-\U0010FFFF]"
	for pattern, want := range map[string]string{
		"[^a]":                      "\\@|\\?|\\>|\\=|\\<|\\;|\\:|\\[|\\\\|\\]|\\^|\\_|\\`|[\x00-9b-\U0010FFFF]",
		`\w+x`:                      `(\_|[0-9a-z])+x`,
		"[^\u0101]":                 "[\x00-\u00FF\u0103-\U0010FFFF]",
		".":                         ".",
		"a[^\x00-@[-\uFFFF]":        "a[\U00010000-\U0010FFFF]",
		"a" + upper + "*":           "a",
		"b|a" + upper:               "b",
		"b|(.&" + upper + ")":       "b",
		"c" + upper + "{1,2}|b":     "b",
		"c(" + upper + "&.){0,2}|b": "c|b",
	} {
		a, err := automaton.Regexp(pattern)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := automaton.Source(a)
		if got := e.Trim(folded).Print(); got != want {
			t.Errorf("%q is printed as %q, want %q", pattern, got, want)
		}
	}
}

// checkTrimmed checks that the trimmed form of a pattern matches the same lower-case texts, even if it is converted to lower case.
func checkTrimmed(t *testing.T, a automaton.Automaton, texts ...string) {
	t.Helper()
	e, _ := automaton.Source(a)
	trimmed := e.Trim(folded).Print()
	if lower := strings.Map(unicode.ToLower, trimmed); lower != trimmed {
		t.Fatalf("%q is not in lower case", trimmed)
	}
	b, err := automaton.Regexp(trimmed)
	if errors.Is(err, automaton.ErrTooComplex) {
		return // a class can have more alternatives than before
	}
	if err != nil {
		t.Fatalf("%q: %v", trimmed, err)
	}
	for _, text := range texts {
		if text = strings.Map(unicode.ToLower, text); automaton.Match(a, text) != automaton.Match(b, text) {
			t.Fatalf("the pattern and %q differ for %q", trimmed, text)
		}
	}
}

// FuzzPrint checks that the printed form of every pattern means the same as the pattern, also after the text of another one.
func FuzzPrint(f *testing.F) {
	for _, seed := range []string{
		"", "a", "(a|b)*", `[^a-c"]{2,3}`, `\d+"x)"`, "~(a)", "((((", `[\--]"])|(b.*["]?`, "#+{0,}?", "[]-a]", `\)`, "a+?*{0,1}", "東[é-東]*", "@&<1-20>é",
		"(a&b)*", "&&", "<9-10", "[^\u0000-\uD7FF]", "a{0}|()|#", ")", "a|)", "[\\]-\\^]", "\U0010FFFF\x00\x7f",
	} {
		f.Add(seed, "tags.vibe.key\x00")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 100 || !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			return
		}
		for _, compile := range []func(string) (automaton.Automaton, error){automaton.Regexp, automaton.Wildcard} {
			a, err := compile(pattern)
			if err != nil || automaton.Size(a) > 2000 {
				continue
			}
			checkPrinted(t, "", a)
			checkPrinted(t, text, a)
			if lower, err := compile(strings.Map(unicode.ToLower, pattern)); err == nil {
				checkTrimmed(t, lower, text, text[:len(text)/2], "", "a", "z", "`", "{", "0", "ā", "\U0010FFFF")
			}
		}
	})
}

// TestPrintLimits checks that patterns are refused whose printed form would be too much for OpenSearch.
func TestPrintLimits(t *testing.T) {
	for name, pattern := range map[string]string{
		"long":          strings.Repeat("[a-c]", automaton.MaxPrinted/5) + "a",
		"long by marks": strings.Repeat("~", automaton.MaxPrinted/2+1),
		"deep":          "a" + strings.Repeat("(b|c", 101) + "d" + strings.Repeat(")", 101),
		"optional":      strings.Repeat("a?", 101),
		"any number":    strings.Repeat("a*", 101),
		"at least once": strings.Repeat("a+", 51),
		"counted":       strings.Repeat("a{2,5}", 21),
		"exactly":       "a{101}",
		"at least":      "a{100,}",
		"copied":        "(a?b?){34}",
		"nested":        strings.Repeat("(", 6) + "a" + strings.Repeat("b)+", 6),
		"overflow":      strings.Repeat("(", 70) + "a" + strings.Repeat("b)+", 70),
	} {
		if _, err := automaton.Regexp(pattern); !errors.Is(err, automaton.ErrTooComplex) {
			t.Errorf("%s: %v, want ErrTooComplex", name, err)
		}
	}
	for name, pattern := range map[string]string{
		"long":                   strings.Repeat("[a-c]", automaton.MaxPrinted/5),
		"deep":                   "a" + strings.Repeat("(b|c", 100) + "d" + strings.Repeat(")", 100),
		"groups without purpose": strings.Repeat("(", 1000) + "a" + strings.Repeat(")", 1000),
		"optional":               strings.Repeat("a?", 100),
		"any number":             strings.Repeat("a*", 100),
		"at least once":          strings.Repeat("a+", 50),
		"counted":                strings.Repeat("a{2,5}", 20),
		"exactly":                "a{100}",
		"at least":               "a{99,}",
		"copied":                 "(a?b?){33}",
		"nested":                 strings.Repeat("(", 5) + "a" + strings.Repeat("b)+", 5),
	} {
		if _, err := automaton.Regexp(pattern); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for asterisks, want := range map[int]error{100: nil, 101: automaton.ErrTooComplex} {
		if _, err := automaton.Wildcard(strings.Repeat("a*", asterisks)); !errors.Is(err, want) {
			t.Errorf("%d asterisks: %v, want %v", asterisks, err, want)
		}
	}
}
