package parity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

// generator generates random queries from the grammar, with words and values of the corpus. The same seed and corpus result in the
// same queries.
type generator struct {
	rand   *rand.Rand
	words  []string            // the different words of the texts, most frequent first
	runs   []string            // sequences of two to four consecutive words of a text
	pieces []string            // unchanged parts of the texts
	values map[string][]string // by field, sorted
	fields []query.Field       // fields with values, except for texts
	texts  []query.Field
	dates  []query.Field
	counts []query.Field // numeric fields
}

// maxRuns is the maximum number of runs and of pieces, and maxValues is the maximum number of values of one field.
const (
	maxRuns   = 20000
	maxValues = 500
)

func newGenerator(seed uint64, docs []document) *generator {
	g := &generator{rand: rand.New(rand.NewPCG(seed, 0x5eed)), values: map[string][]string{}}
	counts := map[string]int{}
	for _, d := range docs {
		for i, w := range d.words {
			counts[w]++
			if n := 2 + i%3; i+n <= len(d.words) && len(g.runs) < maxRuns {
				g.runs = append(g.runs, strings.Join(d.words[i:i+n], " "))
			}
		}
		if pieces := strings.Fields(d.text); len(pieces) > 0 && len(g.pieces) < maxRuns {
			from := len(pieces) * 2 / 5
			g.pieces = append(g.pieces, strings.Join(pieces[from:min(from+4, len(pieces))], " "))
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
	g.gatherValues(docs)
	return g
}

// gatherValues collects the values of the fields.
func (g *generator) gatherValues(docs []document) {
	seen := map[string]bool{}
	for _, d := range docs {
		for name, values := range d.fields {
			for _, v := range values {
				s := fmt.Sprint(v)
				if key := name + "\x00" + s; !seen[key] && len(g.values[name]) < maxValues {
					seen[key] = true
					g.values[name] = append(g.values[name], s)
				}
			}
		}
	}
	names := make([]string, 0, len(g.values))
	for name := range g.values {
		slices.Sort(g.values[name])
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f, ok := query.Lookup(name)
		switch {
		case !ok:
			continue
		case f.Type == query.Text:
			g.texts = append(g.texts, f)
			continue
		case f.Type == query.Date:
			g.dates = append(g.dates, f)
		case f.Type == query.Long || f.Type == query.Double:
			g.counts = append(g.counts, f)
		}
		g.fields = append(g.fields, f)
	}
}

// next generates one query. The family of the question is the kind of the root of the query.
func (g *generator) next() question {
	switch n := g.rand.IntN(20); {
	case n < 8:
		family, text := g.leaf()
		return question{family: "generated " + family, text: text}
	case n < 12:
		return question{family: "generated flat", text: g.group(0)}
	case n < 16:
		return question{family: "generated nested", text: g.group(2)}
	case n < 18:
		return question{family: "generated as typed", text: g.typed()}
	default:
		return question{family: "generated soup", text: g.soup()}
	}
}

// chance returns true with the probability 1/n.
func (g *generator) chance(n int) bool { return g.rand.IntN(n) == 0 }

// group generates two to five clauses, joined in random ways that the grammar allows.
func (g *generator) group(depth int) string {
	var b strings.Builder
	free := true // whether a sign or NOT is allowed before the next clause
	for i := range 2 + g.rand.IntN(4) {
		if i > 0 {
			join := pick(g.rand, []string{" ", " ", "  ", " AND ", " OR ", " AND NOT ", " OR NOT ", " && ", " || ", " AND -", " OR +", "\u3000"})
			b.WriteString(join)
			free = strings.TrimSpace(join) == ""
		}
		if free && g.chance(4) {
			b.WriteString(pick(g.rand, []string{"+", "-", "!", "NOT "}))
		}
		text, listed := "", false
		if depth > 0 && g.chance(3) {
			text = "(" + g.group(depth-1) + ")"
			if g.chance(6) {
				text = pick(g.rand, g.texts).Name + ":(" + g.bareGroup() + ")"
			}
		} else {
			var family string
			family, text = g.leaf()
			listed = family == "list"
		}
		b.WriteString(text)
		// Do not add a boost to a list, because its last value cannot have one.
		if g.chance(12) && !listed {
			b.WriteString(pick(g.rand, []string{"^2", "^0.5", "^3.25", "^1"}))
		}
	}
	return b.String()
}

// bareGroup generates a group of clauses without fields.
func (g *generator) bareGroup() string {
	var b strings.Builder
	for i := range 2 + g.rand.IntN(3) {
		if i > 0 {
			b.WriteString(pick(g.rand, []string{" ", " AND ", " OR ", " -", " +"}))
		}
		switch g.rand.IntN(5) {
		case 0:
			b.WriteString(g.phrase())
		case 1:
			b.WriteString(g.pattern(g.anyWord()))
		default:
			b.WriteString(g.word())
		}
	}
	return b.String()
}

// leaf generates one clause and returns its family.
func (g *generator) leaf() (family, text string) {
	switch g.rand.IntN(24) {
	case 0, 1, 2:
		return "word", g.word()
	case 3, 4:
		return "text field", g.textField() + ":" + g.word()
	case 5, 6:
		f := pick(g.rand, g.fields)
		return "field", nameOf(f) + ":" + g.value(f)
	case 7:
		f := pick(g.rand, g.fields)
		return "bare value", nameOf(f) + ":" + g.bareValue(f)
	case 8, 9:
		return "phrase", g.fielded() + g.phrase()
	case 10, 11:
		return "wildcard", g.onTerms(g.pattern)
	case 12, 13:
		return "regex", g.onTerms(func(w string) string { return "/" + g.regex(w) + "/" })
	case 14, 15:
		return "fuzzy", g.onTerms(g.misspelt)
	case 16:
		return "range", g.numberRange()
	case 17:
		return "term range", g.termRange()
	case 18, 19:
		return "date", g.date()
	case 20:
		return "exists", pick(g.rand, []string{"_exists_:", "_missing_:"}) + g.presence()
	case 21:
		return "field pattern", g.fieldPattern()
	case 22:
		return "odd", pick(g.rand, []string{`"..."`, `\!\!`, "*:*", "*", `""`, "nosuchfield:x", "_exists_:nosuchfield", "☺︎", "text:*", "text:[* TO *]", "text:?*", "text:/@/", `text:"!"`, "all:*",
			`author.profile.name:*`, `tex\*:*`, "text:(* -hello)", `text:\!`})
	default:
		return "list", g.list()
	}
}

// nameOf returns the name of a field in query syntax.
func nameOf(f query.Field) string { return strings.ReplaceAll(f.Name, ":", `\:`) }

// anyWord returns a random word. Half of the words are among the 200 most frequent words.
func (g *generator) anyWord() string {
	n := len(g.words)
	if g.chance(2) {
		n = min(n, 200)
	}
	return g.words[g.rand.IntN(n)]
}

// word returns a word in query syntax, sometimes in capitals.
func (g *generator) word() string {
	w := g.anyWord()
	if g.chance(8) {
		w = strings.ToUpper(w)
	}
	return escape(w)
}

// textField returns the name of a text field, sometimes its short name.
func (g *generator) textField() string {
	if g.chance(2) {
		return "text"
	}
	return pick(g.rand, g.texts).Name
}

// fielded returns the prefix of a text field, or "".
func (g *generator) fielded() string {
	if g.chance(3) {
		return g.textField() + ":"
	}
	return ""
}

// phrase returns a quoted sequence of words of a text, sometimes out of order.
func (g *generator) phrase() string {
	words := strings.Fields(pick(g.rand, g.runs))
	if g.chance(3) {
		g.rand.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	}
	if g.chance(8) {
		words = append(words, words[0])
	}
	p := quote(strings.Join(words, " "))
	if g.chance(2) {
		p += fmt.Sprintf("~%d", 1+g.rand.IntN(8))
	}
	return p
}

func (g *generator) value(f query.Field) string {
	v := pick(g.rand, g.values[f.Name])
	if f.Type == query.Boolean {
		return v
	}
	return quote(v)
}

// bareValue returns a value without quotes, sometimes in capitals.
func (g *generator) bareValue(f query.Field) string {
	v := pick(g.rand, g.values[f.Name])
	if f.Type == query.Keyword && g.chance(4) {
		v = strings.ToUpper(v)
	}
	return escape(v)
}

// onTerms calls make with a random term and returns the result. In some cases, the name of the term's field precedes the result.
func (g *generator) onTerms(make func(string) string) string {
	switch g.rand.IntN(6) {
	case 0:
		for {
			if f := pick(g.rand, g.fields); f.Type == query.Keyword {
				return nameOf(f) + ":" + make(strings.ToLower(pick(g.rand, g.values[f.Name])))
			}
		}
	case 1:
		return g.textField() + ":" + make(g.anyWord())
	default:
		return make(g.anyWord())
	}
}

// pattern returns a wildcard pattern for a word.
func (g *generator) pattern(word string) string {
	r := []rune(word)
	switch at := 1 + g.rand.IntN(len(r)); g.rand.IntN(6) {
	case 0:
		return escape(string(r[:at])) + "*"
	case 1:
		return "*" + escape(string(r[len(r)-at:]))
	case 2:
		return escape(string(r[:at-1])) + "?" + escape(string(r[at:]))
	case 3:
		return escape(strings.ToUpper(string(r[:at]))) + "*"
	case 4:
		return "?" + escape(string(r[1:])) + "*"
	default:
		return escape(string(r[:at-1])) + "*" + escape(string(r[at:]))
	}
}

// regex returns a regular expression for a word.
func (g *generator) regex(word string) string {
	r := []rune(word)
	at := g.rand.IntN(len(r))
	head, tail := escape(string(r[:at])), escape(string(r[at+1:]))
	switch g.rand.IntN(16) {
	case 0:
		return head + ".*"
	case 1:
		return head + "." + tail
	case 2:
		return head + "[a-m]" + tail
	case 3:
		return "(" + escape(word) + "|" + escape(g.anyWord()) + ")"
	case 4:
		return head + "[^" + escape(string(r[at])) + "]?" + tail
	case 5:
		return ".{1,3}" + tail
	case 6:
		return "(" + head + "){1,2}" + ".+"
	case 7:
		return head + "@"
	case 8:
		return "@" + tail + "&" + head + "@"
	case 9:
		return "(" + head + ".{0,3}&@[a-m])" + pick(g.rand, []string{"", "?", "*", "s"})
	case 10:
		return head + "@&@" + escape(g.anyWord()) + "|" + escape(word)
	case 11:
		return g.interval()
	case 12:
		return head + g.interval() + tail
	case 13:
		return "[^" + escape(string(r[at])) + "]+&" + `.{1,` + fmt.Sprint(1+g.rand.IntN(6)) + "}"
	case 14:
		return `"` + strings.NewReplacer(`"`, `.`, `/`, `.`, `\`, `.`).Replace(word) + `"` + pick(g.rand, []string{"", "?", "|#", "~", "&@"})
	default:
		return head + escape(string(r[at])) + "+" + tail
	}
}

// interval returns a numeric interval of a regular expression, with or without a fixed width, and with its bounds in any order.
func (g *generator) interval() string {
	limit := func() string {
		return fmt.Sprintf("%0*d", g.rand.IntN(5), g.rand.IntN(pick(g.rand, []int{3, 40, 300, 2100, 3_000_000})))
	}
	return "<" + limit() + "-" + limit() + ">"
}

// misspelt returns a word with up to two changed letters.
func (g *generator) misspelt(word string) string {
	r := []rune(word)
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
	return escape(string(r)) + pick(g.rand, []string{"~", "~1", "~2", "~0"})
}

func (g *generator) numberRange() string {
	f := pick(g.rand, g.counts)
	a, b := pick(g.rand, g.values[f.Name]), pick(g.rand, g.values[f.Name])
	if g.chance(4) && f.Type == query.Long && len(a) < 15 { // OpenSearch parses fractions as doubles
		a += ".5"
	}
	if g.chance(4) {
		return f.Name + ":" + pick(g.rand, []string{">", ">=", "<", "<="}) + escape(a)
	}
	return f.Name + ":" + g.brackets(a, b)
}

// termRange generates a range of the words of a text field or of the values of a keyword field.
func (g *generator) termRange() string {
	if g.chance(2) {
		a, b := g.anyWord(), g.anyWord()
		return g.textField() + ":" + g.brackets(quote(min(a, b)), quote(max(a, b)))
	}
	for {
		if f := pick(g.rand, g.fields); f.Type == query.Keyword {
			a, b := pick(g.rand, g.values[f.Name]), pick(g.rand, g.values[f.Name])
			return nameOf(f) + ":" + g.brackets(quote(min(a, b)), quote(max(a, b)))
		}
	}
}

// date generates a date, a range of dates or a comparison, with or without date math.
func (g *generator) date() string {
	a, b := g.day(), g.day()
	if b.Before(a) {
		a, b = b, a
	}
	name := pick(g.rand, g.dates).Name
	switch g.rand.IntN(6) {
	case 5:
		return name + ":" + a.Format(pick(g.rand, []string{"2006", "2006-01", "2006-01-02"}))
	case 0:
		return name + ":" + quote(g.instant(a))
	case 1:
		return name + ":" + pick(g.rand, []string{">", ">=", "<", "<="}) + quote(g.instant(a))
	default:
		return name + ":" + g.brackets(quote(g.instant(a)), quote(g.instant(b)))
	}
}

func (g *generator) day() time.Time {
	return time.Date(2023, 11, 15, 0, 0, 0, 0, time.UTC).Add(time.Duration(g.rand.IntN(1100*24*60)) * time.Minute)
}

// instant formats a time as a date with any precision, or as date math.
func (g *generator) instant(t time.Time) string {
	step := func() string {
		unit := pick(g.rand, []string{"y", "M", "w", "d", "h", "H", "m", "s"})
		switch g.rand.IntN(3) {
		case 0:
			return "/" + unit
		case 1:
			return "+" + fmt.Sprint(g.rand.IntN(20)) + unit
		default:
			return "-" + fmt.Sprint(g.rand.IntN(20)) + unit
		}
	}
	switch g.rand.IntN(6) {
	case 0:
		return "now" + step() + step()
	case 1:
		return "now" + step()
	case 2:
		return t.Format("2006-01-02") + "||" + step() + step()
	case 3:
		return fmt.Sprint(t.UnixMilli())
	default:
		return t.Format(pick(g.rand, []string{
			"2006", "2006-01", "2006-01-02", "2006-01-02T15", "2006-01-02T15:04", "2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z",
			"2006-01-02T15:04:05+02:00",
		}))
	}
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

// presence generates an existence query for a field, an object, a short name or a pattern.
func (g *generator) presence() string {
	switch g.rand.IntN(4) {
	case 0:
		return pick(g.rand, []string{
			"text", "author", "author.username", "media", "submission", "activate_units", "content", "content.platform_data.location",
			"hashtag", "content.author.profile", `content.platform_ref\:tumblr`, `content.platform_ref\:\*`, `tags.\*`, `content.\*`, `tex\*`, `tags.*`, "tags.marketer_tags", "configuration", "tags",
		})
	case 1:
		return pick(g.rand, g.texts).Name
	default:
		return nameOf(pick(g.rand, g.fields))
	}
}

// fieldPattern generates a query on several fields.
func (g *generator) fieldPattern() string {
	pattern := pick(g.rand, []string{
		`tags.\*`, `tags.\*.key`, `content.author.\*name`, `content.author.profile.\*`, `content.platform_data.location.\*`,
		`\*.hashtag_text`, `\*_text`, `content.te\*`, `tex\*`, `soc\*`, `author.profile.\*`, `submission.\*`,
		`content.platform_ref\:\*`, `content.platform_ref\*`, `content.platform_ref\:t\*`,
	})
	value := g.word()
	switch g.rand.IntN(4) {
	case 0:
		for {
			if f := pick(g.rand, g.fields); f.Type == query.Keyword {
				value = quote(pick(g.rand, g.values[f.Name]))
				break
			}
		}
	case 1:
		value = g.pattern(g.anyWord())
	case 2:
		value = g.phrase()
	}
	return pattern + ":" + value
}

// list generates values separated by commas or OR.
func (g *generator) list() string {
	one := func() (field string, value func() string) {
		if g.chance(3) {
			return g.textField(), func() string {
				return pick(g.rand, []func() string{g.word, g.phrase, func() string { return g.pattern(g.anyWord()) }})()
			}
		}
		f := pick(g.rand, g.fields)
		return nameOf(f), func() string { return g.value(f) }
	}
	field, value := one()
	if g.chance(4) {
		return field + ":" + value() + "," + value()
	}
	values := make([]string, 2+g.rand.IntN(3))
	for i := range values {
		values[i] = value()
	}
	return field + ":(" + strings.Join(values, pick(g.rand, []string{" OR ", " ", ",", ", "})) + ")"
}

// typed returns a part of a text, as a user may paste it, with special characters escaped.
func (g *generator) typed() string { return g.fielded() + escapeText(pick(g.rand, g.pieces)) }

// soup generates a sequence of tokens that the grammar need not allow.
func (g *generator) soup() string {
	var b strings.Builder
	for range 2 + g.rand.IntN(6) {
		switch n := g.rand.IntN(3); {
		case n == 0:
			b.WriteString(escape(g.words[g.rand.IntN(min(len(g.words), 60))]))
		default:
			b.WriteString(pick(g.rand, []string{
				"AND", "OR", "NOT", "&&", "||", "!", "+", "-", "(", ")", "(", ")", `"`, `"good day"`, "*", "?", "~", "~1", "^2", "^", ":", "text:",
				"approval_status:", "campaign:", "lo*", "l?ve", "/lo.e/", "/", `\`, "[a TO c]", "{a TO c]", "[", "]", "TO", "5", "app", "text:(", ">", "<5",
				"=", "&", "|", "#", "@", "_exists_:", "text", "…", "*:*", "*:", ";", "'", "%", "$", ".", "-5", "~2", "a-b", "a+b", "a!b",
			}))
		}
		if g.rand.IntN(3) > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// escape puts a backslash before every character that has a special meaning in the parser of either side, and before a word that is an
// operator.
func escape(word string) string {
	var b strings.Builder
	switch word {
	case "AND", "OR", "NOT":
		b.WriteByte('\\')
	}
	for _, r := range word {
		if strings.ContainsRune("+-!():^[]\"{}~*?\\/&|,=<>@#. \t\r\n\u3000", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// escapeText escapes everything that would not be part of a word, except for white space.
func escapeText(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		switch w {
		case "AND", "OR", "NOT", "&&", "||":
			words[i] = `\` + w
			continue
		}
		words[i] = strings.NewReplacer("(", `\(`, ")", `\)`, ":", `\:`, "^", `\^`, "[", `\[`, "]", `\]`, `"`, `\"`, "{", `\{`, "}", `\}`,
			"~", `\~`, "*", `\*`, "?", `\?`, `\`, `\\`, "/", `\/`, "!", `\!`, "+", `\+`, "-", `\-`, ",", `\,`, "<", `\<`, ">", `\>`, "=", `\=`).Replace(w)
	}
	return strings.Join(words, " ")
}

// quote returns a text in quotes.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// draw returns n generated questions for a corpus.
func draw(t *testing.T, docs []document, seed uint64, n int) []string {
	t.Helper()
	g := newGenerator(seed, docs)
	var out []string
	for range n {
		q := g.next()
		out = append(out, q.family+"\t"+q.text)
	}
	return out
}

// ownCorpus returns the corpus of a run without files, which is read once for all tests.
var ownCorpus = sync.OnceValues(func() ([]document, error) { return loadCorpus(nil) })

func corpus(t *testing.T) []document {
	t.Helper()
	docs, err := ownCorpus()
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestGenerateIsDeterministic(t *testing.T) {
	first, again := draw(t, corpus(t), 5, 500), draw(t, corpus(t), 5, 500)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same seed gives different queries (-first +again)\n%s", diff)
	}
	if slices.Equal(first, draw(t, corpus(t), 6, 500)) {
		t.Error("another seed gives the same queries")
	}
}

// TestGenerateCoversTheGrammar checks that queries of every family are generated, and that all generated queries except those of the family
// soup are valid.
func TestGenerateCoversTheGrammar(t *testing.T) {
	counts := map[string]int{}
	for _, line := range draw(t, corpus(t), 1, 2000) {
		family, text, _ := strings.Cut(line, "\t")
		counts[family]++
		if _, err := query.Parse(text); err != nil && family != "generated soup" {
			t.Errorf("%s: %s: %v", family, text, err)
		}
	}
	for _, family := range []string{
		"word", "text field", "field", "bare value", "phrase", "wildcard", "regex", "fuzzy", "range", "term range", "date", "exists",
		"field pattern", "odd", "list", "flat", "nested", "as typed", "soup",
	} {
		if counts["generated "+family] < 10 {
			t.Errorf("%d of 2000 queries are of the family %q, want 10 or more", counts["generated "+family], family)
		}
		delete(counts, "generated "+family)
	}
	if len(counts) > 0 {
		t.Errorf("families that this test does not know: %v", counts)
	}
}
