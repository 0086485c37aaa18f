package automaton_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// accepted returns the terms that an automaton accepts. It also checks that the other methods of the automaton agree with this result.
func accepted(t *testing.T, a automaton.Automaton, terms []string) []string {
	t.Helper()
	out := []string{}
	for _, term := range terms {
		ok := automaton.Match(a, term)
		if ok {
			out = append(out, term)
		}
		s, always := a.Start(), false
		for i := 0; i < len(term); i++ {
			always = always || a.WillAlwaysMatch(s)
			s = a.Accept(s, term[i])
			if always && !a.IsMatch(s) {
				t.Errorf("%q: a state that always matches led to one that does not", term)
			}
		}
		if a.IsMatch(s) != ok {
			t.Errorf("%q: Match says %v, the states %v", term, ok, a.IsMatch(s))
		}
		if a.IsMatch(s) && !a.CanMatch(s) {
			t.Errorf("%q: an accepting state cannot match", term)
		}
	}
	return out
}

func TestPrefix(t *testing.T) {
	tests := map[string]struct {
		prefix string
		want   []string
	}{
		"letters":      {"sun", []string{"sun", "sunset"}},
		"nothing":      {"", []string{"", "su", "sun", "sunset", "moon", "東京"}},
		"part of rune": {"\xe6\x9d", []string{"東京"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := accepted(t, automaton.Prefix(tc.prefix), []string{"", "su", "sun", "sunset", "moon", "東京"})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWildcard(t *testing.T) {
	terms := []string{"a", "ab", "abc", "acb", "a*c", "a?c", "a\\", "é", "aéc", "東京都", "😀"}
	tests := map[string]struct {
		pattern string
		want    []string
	}{
		"literal":                   {"abc", []string{"abc"}},
		"any string at the end":     {"a*", []string{"a", "ab", "abc", "acb", "a*c", "a?c", "a\\", "aéc"}},
		"any string at the start":   {"*c", []string{"abc", "a*c", "a?c", "aéc"}},
		"any string within":         {"a*c", []string{"abc", "a*c", "a?c", "aéc"}},
		"one character":             {"a?c", []string{"abc", "a*c", "a?c", "aéc"}},
		"one character of any size": {"?", []string{"a", "é", "😀"}},
		"at least two":              {"??*", []string{"ab", "abc", "acb", "a*c", "a?c", "a\\", "aéc", "東京都"}},
		"escaped star":              {`a\*c`, []string{"a*c"}},
		"escaped mark":              {`a\?c`, []string{"a?c"}},
		"backslash at the end":      {`a\`, []string{"a\\"}},
		"escaped letter":            {`\a\b`, []string{"ab"}},
		"ideographs":                {"東*都", []string{"東京都"}},
		"stars in a row":            {"***b***", []string{"ab", "abc", "acb"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := automaton.Wildcard(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, accepted(t, a, terms)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRegexp compares which terms a pattern matches with the results of Lucene 10.
func TestRegexp(t *testing.T) {
	terms := []string{"", "a", "b", "ab", "abc", "aab", "aaab", "^a", "a$", "a|b", "|a", "5", "x5", "_", " ", "é", "東", "😀", "]", "-", ")", "a.b", `a"b`, "*a"}
	tests := map[string]struct {
		pattern string
		want    []string
	}{
		"empty":                        {"", []string{""}},
		"anchored at both ends":        {"a", []string{"a"}},
		"any character":                {".", []string{"a", "b", "5", "_", " ", "é", "東", "😀", "]", "-", ")"}},
		"optional":                     {"a?b", []string{"b", "ab"}},
		"any number":                   {"a*b", []string{"b", "ab", "aab", "aaab"}},
		"at least one":                 {"a+b", []string{"ab", "aab", "aaab"}},
		"counted":                      {"a{2}b", []string{"aab"}},
		"counted from":                 {"a{2,}b", []string{"aab", "aaab"}},
		"counted from to":              {"a{0,2}b", []string{"b", "ab", "aab"}},
		"counted not at all":           {"a{0}b", []string{"b"}},
		"or":                           {"a|b|abc", []string{"a", "b", "abc"}},
		"group":                        {"(a|b)+c?", []string{"a", "b", "ab", "abc", "aab", "aaab"}},
		"empty string":                 {"()", []string{""}},
		"empty string in a row":        {"a()b", []string{"ab"}},
		"class":                        {"[ab5]", []string{"a", "b", "5"}},
		"range":                        {"[a-z]", []string{"a", "b"}},
		"negated class":                {"[^a-z]", []string{"5", "_", " ", "é", "東", "😀", "]", "-", ")"}},
		"class of ideographs":          {"[一-龠]", []string{"東"}},
		"bracket first in a class":     {"[]a]", []string{"a", "]"}},
		"escape in a class":            {`[\]\-]`, []string{"]", "-"}},
		"class in a class":             {`[\d_]`, []string{"5", "_"}},
		"digits":                       {`\d`, []string{"5"}},
		"no digits":                    {`\D`, []string{"a", "b", "_", " ", "é", "東", "😀", "]", "-", ")"}},
		"space":                        {`\s`, []string{" "}},
		"word characters":              {`\w+`, []string{"a", "b", "ab", "abc", "aab", "aaab", "5", "x5", "_"}},
		"no word character":            {`\W`, []string{" ", "é", "東", "😀", "]", "-", ")"}},
		"escape":                       {`a\.b`, []string{"a.b"}},
		"escaped letters outside":      {`a\|b`, []string{"a|b"}},
		"quoted":                       {`"a.b"`, []string{"a.b"}},
		"caret means itself":           {"^a", []string{"^a"}},
		"dollar means itself":          {"a$", []string{"a$"}},
		"operator without operand":     {"*a", []string{"*a"}},
		"bar without operand":          {"|a", []string{"|a"}},
		"closing bracket":              {"]", []string{"]"}},
		"closing parenthesis first":    {"[)]", []string{")"}},
		"nothing":                      {"#", []string{}},
		"nothing or something":         {"#|a", []string{"a"}},
		"nothing repeated":             {"#*", []string{}},
		"nothing, optional":            {"#?a", []string{"a"}},
		"repeated repetition":          {"(a*)*b**", []string{"", "a", "b", "ab", "aab", "aaab"}},
		"empty string counted often":   {"(){1000000000}a", []string{"a"}},
		"many plus signs":              {"a" + strings.Repeat("+", 200) + "b", []string{"ab", "aab", "aaab"}},
		"beyond the basic plane":       {"[\U0001F600-\U0001F64F]", []string{"😀"}},
		"everything but a plane range": {"[^\u0000-\uFFFF]", []string{"😀"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := automaton.Regexp(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, accepted(t, a, terms)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRegexpErrors(t *testing.T) {
	tests := map[string]struct {
		pattern string
		want    automaton.SyntaxError
	}{
		"open group":           {"a(b", automaton.SyntaxError{Offset: 1, Reason: `unbalanced '('`}},
		"closed group":         {"a)b", automaton.SyntaxError{Offset: 1, Reason: `unbalanced ')'`}},
		"closed group first":   {")|a.*", automaton.SyntaxError{Offset: 0, Reason: `unbalanced ')'`}},
		"closed group, no or":  {"(a|)b", automaton.SyntaxError{Offset: 3, Reason: `unbalanced ')'`}},
		"closed group, no and": {"é&)", automaton.SyntaxError{Offset: 2, Reason: `unbalanced ')'`}},
		"two closed groups":    {"(a))", automaton.SyntaxError{Offset: 3, Reason: `unbalanced ')'`}},
		"open class":           {"é[b", automaton.SyntaxError{Offset: 1, Reason: `unbalanced '['`}},
		"empty class":          {"a[]", automaton.SyntaxError{Offset: 1, Reason: `unbalanced '['`}},
		"open quote":           {`a"b`, automaton.SyntaxError{Offset: 1, Reason: `missing closing quote`}},
		"bar at the end":       {"東|", automaton.SyntaxError{Offset: 2, Reason: `unexpected end`}},
		"backslash at the end": {`ab\`, automaton.SyntaxError{Offset: 2, Reason: `nothing follows the backslash`}},
		"unknown class":        {`a\n`, automaton.SyntaxError{Offset: 1, Reason: `unknown class \n`}},
		"range out of order":   {"[z-a]", automaton.SyntaxError{Offset: 1, Reason: `the range z-a is out of order`}},
		"no count":             {"a{,2}", automaton.SyntaxError{Offset: 2, Reason: `expected a number after '{'`}},
		"count not closed":     {"a{2", automaton.SyntaxError{Offset: 3, Reason: `missing '}'`}},
		"count out of order":   {"a{3,2}", automaton.SyntaxError{Offset: 1, Reason: `the repetition {3,2} is out of order`}},
		"count too large":      {"a{99999999999}", automaton.SyntaxError{Offset: 2, Reason: `the number is too large`}},
		"nothing to intersect": {"a&", automaton.SyntaxError{Offset: 2, Reason: `unexpected end`}},
		"interval not closed":  {"a<1-5", automaton.SyntaxError{Offset: 1, Reason: `expected an interval such as <1-99>; for the character <, write \<`}},
		"name":                 {"é<a>", automaton.SyntaxError{Offset: 1, Reason: `expected an interval such as <1-99>; for the character <, write \<`}},
		"one number":           {"<1>", automaton.SyntaxError{Offset: 0, Reason: `expected an interval such as <1-99>; for the character <, write \<`}},
		"three numbers":        {"<1-2-3>", automaton.SyntaxError{Offset: 0, Reason: `expected an interval such as <1-99>; for the character <, write \<`}},
		"number too large":     {"<1-2147483648>", automaton.SyntaxError{Offset: 0, Reason: `expected an interval such as <1-99>; for the character <, write \<`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := automaton.Regexp(tc.pattern)
			var got *automaton.SyntaxError
			if !errors.As(err, &got) {
				t.Fatalf("error %v, want a SyntaxError", err)
			}
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRegexpOperators compares which terms a pattern with optional operators matches with the results of Lucene 10.
func TestRegexpOperators(t *testing.T) {
	terms := []string{
		"", "a", "b", "ab", "~a", "&", "&a", "a&b", "@", "<1-5>", "7", "07", "007", "1", "01", "12", "15", "100", "a12", "joe@example.com", "joe-example.com", "😀",
	}
	tests := map[string]struct {
		pattern string
		want    []string
	}{
		"any string":                    {"@", terms},
		"any string, repeated":          {"@+", terms},
		"any string behind a character": {"a@", []string{"a", "ab", "a&b", "a12"}},
		"address":                       {`joe@example\.com`, []string{"joe@example.com", "joe-example.com"}},
		"address with an escape":        {`joe\@example\.com`, []string{"joe@example.com"}},
		"address with a quotation":      {`"joe@example.com"`, []string{"joe@example.com"}},
		"at sign in a class":            {"[@]", []string{"@"}},
		"intersection":                  {"(a|b)&a", []string{"a"}},
		"intersection of three":         {"a.*&.*b&...", []string{"a&b"}},
		"intersection before union":     {"a|b&#|7", []string{"a", "7"}},
		"intersection after a row":      {"a.&.b", []string{"ab"}},
		"intersection in a row":         {"(.&a)b", []string{"ab"}},
		"intersection, repeated":        {"([0-9]&[^3-9]){2}", []string{"01", "12"}},
		"intersection of classes":       {".&[^0-9a-z]", []string{"&", "@", "😀"}},
		"empty intersection":            {"a&b", []string{}},
		"empty intersection, repeated":  {"(a&b)*", []string{}},
		"empty intersection, optional":  {"(a&b)?", []string{""}},
		"empty intersection or a value": {"(a&b)|a", []string{"a"}},
		"intersection with nothing":     {"@&#", []string{}},
		"intersection of empty strings": {"()&()", []string{""}},
		"operand of an ampersand":       {"&a", []string{"&a"}},
		"two ampersands":                {"@&&a", []string{"&a"}},
		"escaped ampersand":             {`a\&b`, []string{"a&b"}},
		"interval":                      {"<1-15>", []string{"7", "07", "007", "1", "01", "12", "15"}},
		"interval out of order":         {"<15-1>", []string{"7", "07", "007", "1", "01", "12", "15"}},
		"interval of two digits":        {"<01-15>", []string{"07", "01", "12", "15"}},
		"interval of two lengths":       {"<007-9>", []string{"7", "07", "007"}},
		"interval with signs":           {"<+7-+9>", []string{"07"}},
		"interval of one":               {"<7-07>", []string{"7", "07", "007"}},
		"interval behind a letter":      {"a<1-15>", []string{"a12"}},
		"interval, repeated":            {"<1-5>{2}", []string{"12", "15"}},
		"escaped interval":              {`\<1-5>`, []string{"<1-5>"}},
		"tilde is an ordinary one":      {"~a", []string{"~a"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := automaton.Regexp(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, accepted(t, a, terms)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRegexpIntervals checks that an interval accepts exactly the numbers in it.
func TestRegexpIntervals(t *testing.T) {
	for _, ends := range [][2]int{{0, 0}, {0, 5}, {0, 10}, {3, 8}, {9, 11}, {10, 99}, {12, 17}, {5, 120}, {99, 101}, {100, 1000}, {119, 1203}, {0, 9999}} {
		for _, width := range []int{0, 4} {
			a, err := automaton.Regexp(fmt.Sprintf("<%0*d-%0*d>", width, ends[0], width, ends[1]))
			if err != nil {
				t.Fatal(err)
			}
			fixed := len(fmt.Sprintf("%0*d", width, ends[0]))
			if fixed != len(fmt.Sprintf("%0*d", width, ends[1])) {
				fixed = 0
			}
			for n := range 10_000 {
				for zeros := range 6 {
					term := fmt.Sprintf("%0*d", zeros, n)
					want := ends[0] <= n && n <= ends[1] && (fixed == 0 || len(term) == fixed)
					if got := automaton.Match(a, term); got != want {
						t.Fatalf("<%0*d-%0*d> accepts %q: %v, want %v", width, ends[0], width, ends[1], term, got, want)
					}
				}
			}
		}
	}
}

func TestTooComplex(t *testing.T) {
	tests := map[string]func() (automaton.Automaton, error){
		"states of an intersection that multiply": func() (automaton.Automaton, error) {
			return automaton.Regexp("((a{101})*&(a{103})*)|b")
		},
		"an operand of an intersection": func() (automaton.Automaton, error) { return automaton.Regexp("b&((a|b)*a(a|b){14})") },
		"intersections that take an effort together": func() (automaton.Automaton, error) {
			return automaton.Regexp(strings.Repeat("((.?){200}a&@)", 20))
		},
		"states that multiply":      func() (automaton.Automaton, error) { return automaton.Regexp("(a|b)*a(a|b){14}") },
		"repetitions that multiply": func() (automaton.Automaton, error) { return automaton.Regexp("((a{100}){100}){100}") },
		"a long wildcard": func() (automaton.Automaton, error) {
			return automaton.Wildcard(strings.Repeat("a", automaton.MaxStates+1))
		},
		"wildcards that multiply": func() (automaton.Automaton, error) {
			return automaton.Wildcard("*a" + strings.Repeat("?", 14))
		},
		"few states of large sets": func() (automaton.Automaton, error) { return automaton.Regexp("(.?){800}a") },
	}
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := make(); !errors.Is(err, automaton.ErrTooComplex) {
				t.Errorf("error %v, want ErrTooComplex", err)
			}
		})
	}
}

// largeSets returns a pattern with few states, each of which represents a number of positions that grows with alternatives.
func largeSets(alternatives int) string {
	return "((" + strings.Repeat("[^é]|", alternatives) + "a)?){50}"
}

// TestEffortIsACount checks that the limit on effort does not depend on the speed of the machine.
func TestEffortIsACount(t *testing.T) {
	if _, err := automaton.Regexp(largeSets(12)); err != nil {
		t.Errorf("12 alternatives: %v", err)
	}
	if _, err := automaton.Regexp(largeSets(14)); !errors.Is(err, automaton.ErrTooComplex) {
		t.Errorf("14 alternatives: %v, want ErrTooComplex", err)
	}
}

// TestComplexPatternsTakeLittleMemory checks that a pattern takes little memory even if it is refused in the end. Otherwise, any caller
// could exhaust the memory by sending many patterns.
func TestComplexPatternsTakeLittleMemory(t *testing.T) {
	tests := map[string]func() (automaton.Automaton, error){
		"large sets, refused":  func() (automaton.Automaton, error) { return automaton.Regexp("(.?){500}a{500}") },
		"intersections":        func() (automaton.Automaton, error) { return automaton.Regexp(strings.Repeat("((.?){200}a&@)", 20)) },
		"large sets, accepted": func() (automaton.Automaton, error) { return automaton.Regexp(largeSets(12)) },
		"wildcards":            func() (automaton.Automaton, error) { return automaton.Wildcard(strings.Repeat("*a", 3000)) },
	}
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := make()
			runtime.ReadMemStats(&after)
			if err != nil && !errors.Is(err, automaton.ErrTooComplex) {
				t.Fatal(err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
				t.Errorf("it took %d bytes", took)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want int
	}{
		"equal":                            {"beach", "beach", 0},
		"both empty":                       {"", "", 0},
		"one empty":                        {"", "ab", 2},
		"inserted":                         {"beach", "bleach", 1},
		"deleted":                          {"beach", "each", 1},
		"replaced":                         {"beach", "beech", 1},
		"exchanged":                        {"beach", "baech", 1},
		"exchanged at the end":             {"beach", "beahc", 1},
		"exchanged twice":                  {"abcd", "badc", 2},
		"exchanged characters are touched": {"ca", "abc", 3},
		"characters, not bytes":            {"東京", "東都", 1},
		"beyond the basic plane":           {"a😀", "a😁", 1},
		"far":                              {"summer", "winter", 4},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for limit := range 3 {
				want := min(tc.want, limit+1)
				if got := automaton.Distance(tc.a, tc.b, limit); got != want {
					t.Errorf("Distance(%q, %q, %d) = %d, want %d", tc.a, tc.b, limit, got, want)
				}
				if got := automaton.Distance(tc.b, tc.a, limit); got != want {
					t.Errorf("Distance(%q, %q, %d) = %d, want %d", tc.b, tc.a, limit, got, want)
				}
			}
		})
	}
}

// naiveDistance computes the edit distance by optimal string alignment, with the whole table.
func naiveDistance(a, b []rune) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := range table[i] {
			switch {
			case i == 0:
				table[i][j] = j
			case j == 0:
				table[i][j] = i
			default:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				d := min(table[i-1][j]+1, table[i][j-1]+1, table[i-1][j-1]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d = min(d, table[i-2][j-2]+1)
				}
				table[i][j] = d
			}
		}
	}
	return table[len(a)][len(b)]
}

// FuzzDistance compares Distance with naiveDistance.
func FuzzDistance(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		var b strings.Builder
		for range rng.IntN(9) {
			b.WriteRune([]rune("aabbcdé東😀")[rng.IntN(9)])
		}
		return b.String()
	}
	for range 500 {
		f.Add(word(), word())
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || len(a) > 60 || len(b) > 60 {
			return
		}
		distance := naiveDistance([]rune(a), []rune(b))
		for edits := range 3 {
			if got, want := automaton.Distance(a, b, edits), min(distance, edits+1); got != want {
				t.Errorf("Distance(%q, %q, %d) = %d, want %d", a, b, edits, got, want)
			}
		}
	})
}

// naiveWildcard matches a text with a wildcard pattern by exhaustive search.
func naiveWildcard(pattern, text []rune) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	switch {
	case pattern[0] == '*':
		return naiveWildcard(pattern[1:], text) || len(text) > 0 && naiveWildcard(pattern, text[1:])
	case len(text) == 0:
		return false
	case pattern[0] == '?':
		return naiveWildcard(pattern[1:], text[1:])
	case pattern[0] == '\\' && len(pattern) > 1:
		return pattern[1] == text[0] && naiveWildcard(pattern[2:], text[1:])
	}
	return pattern[0] == text[0] && naiveWildcard(pattern[1:], text[1:])
}

// FuzzWildcard compares the automaton with naiveWildcard.
func FuzzWildcard(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var pattern, text strings.Builder
		for range rng.IntN(7) {
			pattern.WriteRune([]rune(`ab*?*\é東`)[rng.IntN(8)])
		}
		for range rng.IntN(7) {
			text.WriteRune([]rune(`abé東*\`)[rng.IntN(6)])
		}
		f.Add(pattern.String(), text.String())
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(text) || len(text) > 30 || strings.Count(pattern, "*") > 4 {
			return
		}
		a, err := automaton.Wildcard(pattern)
		if errors.Is(err, automaton.ErrTooComplex) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, want := automaton.Match(a, text), naiveWildcard([]rune(pattern), []rune(text)); got != want {
			t.Errorf("%q accepts %q: %v, want %v", pattern, text, got, want)
		}
	})
}
