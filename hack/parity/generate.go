package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// generator draws queries over the grammar from the words and values that the corpus holds. The same seed and corpus
// give the same queries.
type generator struct {
	rand   *rand.Rand
	words  []string            // the words of the texts, by frequency, most frequent first
	pairs  []string            // two or three neighbouring words
	values map[string][]string // by keyword, number, boolean and date field, in order of appearance
	fields []query.Field       // those that have values
	texts  []query.Field
}

func newGenerator(seed uint64, docs []document) *generator {
	g := &generator{rand: rand.New(rand.NewPCG(seed, 0x5eed)), values: map[string][]string{}}
	counts := map[string]int{}
	pairs := map[string]bool{}
	seen := map[string]bool{}
	for _, d := range docs {
		words := d.words
		for i, w := range words {
			counts[w]++
			if i > 0 && len(pairs) < 20000 {
				pairs[words[i-1]+" "+w] = true
			}
			if i > 1 && len(pairs) < 20000 {
				pairs[words[i-2]+" "+words[i-1]+" "+w] = true
			}
		}
		for name, values := range d.fields {
			for _, v := range values {
				s := fmt.Sprint(v)
				if key := name + "\x00" + s; !seen[key] && len(g.values[name]) < 500 {
					seen[key] = true
					g.values[name] = append(g.values[name], s)
				}
			}
		}
	}
	for w := range counts {
		g.words = append(g.words, w)
	}
	slices.SortFunc(g.words, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for p := range pairs {
		g.pairs = append(g.pairs, p)
	}
	slices.Sort(g.pairs)
	for name := range g.values {
		slices.Sort(g.values[name])
		f, ok := query.Lookup(name)
		switch {
		case !ok:
		case f.Type == query.Text:
			g.texts = append(g.texts, f)
		default:
			g.fields = append(g.fields, f)
		}
	}
	byName := func(a, b query.Field) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(g.fields, byName)
	slices.SortFunc(g.texts, byName)
	return g
}

// next draws one query; its family is the kind of its root.
func (g *generator) next() question {
	switch n := g.rand.IntN(10); {
	case n < 3:
		family, text := g.leaf()
		return question{"generated " + family, text}
	case n < 7:
		return question{"generated flat", g.group(0)}
	default:
		return question{"generated nested", g.group(2)}
	}
}

// group draws two to five clauses, joined in every way that the grammar has.
func (g *generator) group(depth int) string {
	var b strings.Builder
	n := 2 + g.rand.IntN(4)
	for i := range n {
		if i > 0 {
			b.WriteString(pick(g.rand, []string{" ", " ", " AND ", " OR ", " AND NOT ", " OR NOT ", " && ", " || "}))
		}
		last := b.String()
		free := !strings.HasSuffix(last, "NOT ") && !strings.HasSuffix(last, "AND ") && !strings.HasSuffix(last, "OR ") &&
			!strings.HasSuffix(last, "&& ") && !strings.HasSuffix(last, "|| ")
		if free && g.rand.IntN(4) == 0 {
			b.WriteString(pick(g.rand, []string{"+", "-", "!", "NOT "}))
		}
		if depth > 0 && g.rand.IntN(3) == 0 {
			b.WriteString("(" + g.group(depth-1) + ")")
		} else {
			_, text := g.leaf()
			b.WriteString(text)
		}
		if g.rand.IntN(12) == 0 && !strings.HasSuffix(b.String(), "~") {
			b.WriteString(pick(g.rand, []string{"^2", "^0.5", "^3.25"}))
		}
	}
	return b.String()
}

// leaf draws one clause and names its family.
func (g *generator) leaf() (family, text string) {
	switch g.rand.IntN(16) {
	case 0, 1, 2:
		return "word", g.word()
	case 3, 4:
		return "text field", pick(g.rand, g.texts).Name + ":" + g.word()
	case 5, 6, 7:
		f := pick(g.rand, g.fields)
		return "field", f.Name + ":" + g.value(f)
	case 8:
		p := `"` + pick(g.rand, g.pairs) + `"`
		if g.rand.IntN(2) == 0 {
			p += fmt.Sprintf("~%d", 1+g.rand.IntN(4))
		}
		return "phrase", p
	case 9:
		return "wildcard", g.pattern()
	case 10:
		return "regex", "/" + g.regex() + "/"
	case 11:
		return "fuzzy", g.misspelt()
	case 12:
		return "range", g.numberRange()
	case 13:
		return "date", g.dateRange()
	case 14:
		f := pick(g.rand, g.fields)
		return "exists", pick(g.rand, []string{"_exists_:", "_missing_:"}) + f.Name
	default:
		f := pick(g.rand, g.fields)
		join := pick(g.rand, []string{" OR ", ","})
		return "list", f.Name + ":(" + g.value(f) + join + g.value(f) + ")"
	}
}

// word draws frequent words as often as rare ones.
func (g *generator) word() string {
	n := len(g.words)
	if g.rand.IntN(2) == 0 {
		n = min(n, 200)
	}
	return escape(g.words[g.rand.IntN(n)])
}

func (g *generator) value(f query.Field) string {
	v := pick(g.rand, g.values[f.Name])
	if f.Type == query.Boolean {
		return v
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
}

func (g *generator) pattern() string {
	r := []rune(g.words[g.rand.IntN(len(g.words))])
	switch at := 1 + g.rand.IntN(len(r)); g.rand.IntN(4) {
	case 0:
		return escape(string(r[:at])) + "*"
	case 1:
		return "*" + escape(string(r[len(r)-at:]))
	case 2:
		return escape(string(r[:at-1])) + "?" + escape(string(r[at:]))
	default:
		return escape(string(r[:at-1])) + "*" + escape(string(r[at:]))
	}
}

func (g *generator) regex() string {
	r := []rune(g.words[g.rand.IntN(len(g.words))])
	at := g.rand.IntN(len(r))
	head, tail := escape(string(r[:at])), escape(string(r[at+1:]))
	switch g.rand.IntN(5) {
	case 0:
		return head + ".*"
	case 1:
		return head + "." + tail
	case 2:
		return head + "[a-m]" + tail
	case 3:
		return "(" + escape(string(r)) + "|" + escape(g.words[g.rand.IntN(len(g.words))]) + ")"
	default:
		return head + escape(string(r[at])) + "+" + tail
	}
}

// misspelt changes up to two letters of a word.
func (g *generator) misspelt() string {
	r := []rune(g.words[g.rand.IntN(min(len(g.words), 3000))])
	for range g.rand.IntN(3) {
		at := g.rand.IntN(len(r))
		switch g.rand.IntN(4) {
		case 0:
			r[at] = rune('a' + g.rand.IntN(26))
		case 1:
			if len(r) > 1 {
				r = slices.Delete(r, at, at+1)
			}
		case 2:
			r = slices.Insert(r, at, rune('a'+g.rand.IntN(26)))
		default:
			if at > 0 {
				r[at-1], r[at] = r[at], r[at-1]
			}
		}
	}
	return escape(string(r)) + pick(g.rand, []string{"~", "~1", "~2"})
}

func (g *generator) numberRange() string {
	var numbers []query.Field
	for _, f := range g.fields {
		if f.Type == query.Long || f.Type == query.Double {
			numbers = append(numbers, f)
		}
	}
	f := pick(g.rand, numbers)
	a, b := pick(g.rand, g.values[f.Name]), pick(g.rand, g.values[f.Name])
	if number(b) < number(a) {
		a, b = b, a
	}
	return f.Name + ":" + g.brackets(a, b)
}

func (g *generator) dateRange() string {
	day := func() time.Time {
		return time.Date(2023, 11, 15, 0, 0, 0, 0, time.UTC).AddDate(0, 0, g.rand.IntN(1100))
	}
	a, b := day(), day()
	if b.Before(a) {
		a, b = b, a
	}
	layout := pick(g.rand, []string{"2006", "2006-01", "2006-01-02", "2006-01-02T15:04:05Z"})
	field := pick(g.rand, []string{"created_on", "content.created_on", "content.social_platform_created_on"})
	return field + ":" + g.brackets(a.Format(layout), b.Format(layout))
}

func (g *generator) brackets(a, b string) string {
	switch g.rand.IntN(6) {
	case 0:
		a = "*"
	case 1:
		b = "*"
	}
	return pick(g.rand, []string{"[", "{"}) + a + " TO " + b + pick(g.rand, []string{"]", "}"})
}

// number reads a value that the corpus holds for a number field.
func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(fmt.Sprintf("%q stands in a number field", s))
	}
	return f
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// escape puts a backslash before every character that means something to either parser, and before words that would be
// operators.
func escape(word string) string {
	var b strings.Builder
	for _, r := range word {
		if strings.ContainsRune(`+-!():^[]"{}~*?\/&|,=<>@#. `, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
