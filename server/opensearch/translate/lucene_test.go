package translate

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

//go:embed testdata/Judge.java
var judgeSource []byte

// TestLucene generates patterns that Vitrine accepts, and checks that every supported version of Lucene interprets the text that is sent
// for them as Vitrine does: it must accept exactly the name of the field, NUL, and what the automaton of the pattern accepts. The
// environment variable VITRINE_LUCENE contains the number of patterns, and VITRINE_LUCENE_SEED the seed of the generator.
func TestLucene(t *testing.T) {
	t.Parallel()
	count, err := strconv.Atoi(os.Getenv("VITRINE_LUCENE"))
	if err != nil {
		t.Skip("DID NOT RUN: run make lucene, which needs a JDK")
	}
	seed, _ := strconv.ParseUint(os.Getenv("VITRINE_LUCENE_SEED"), 10, 64)
	for _, j := range judges(t) {
		t.Run(j.version, func(t *testing.T) {
			t.Parallel()
			g := &patternGenerator{rand.New(rand.NewPCG(seed, 1))}
			var asked []string
			for range count {
				leaf := g.leaf(t)
				q, err := pattern(leaf, schema.Indexed(leaf.Field))
				if err != nil {
					t.Fatal(err)
				}
				body, ok := q["regexp"].(object)
				if !ok { // a prefix query, which has no syntax
					asked = append(asked, leaf.Source)
					j.ask(t, automaton.Concat(automaton.Literal(schema.PrefixOf(leaf.Field)+automaton.LiteralPrefix(leaf.Automaton)), automaton.AnyString()).Print(), schema.PrefixOf(leaf.Field), leaf.Automaton)
					continue
				}
				text := body[schema.Indexed(leaf.Field)].(object)["value"].(string)
				asked = append(asked, leaf.Source+" as "+text)
				j.ask(t, text, schema.PrefixOf(leaf.Field), leaf.Automaton)
			}
			differences, complex := j.finish(t)
			for i, reason := range differences {
				t.Errorf("%q: %s", asked[i], reason)
			}
			t.Logf("Lucene %s: %d patterns, %d differences, %d too complex", j.version, count, len(differences), complex)
			if complex > count/100 {
				t.Errorf("Lucene refuses %d of %d patterns as too complex", complex, count)
			}
		})
	}
}

// TestLuceneJudge checks that the judge finds patterns whose text, sent unchanged, means something else in an old version of Lucene.
func TestLuceneJudge(t *testing.T) {
	t.Parallel()
	if os.Getenv("VITRINE_LUCENE") == "" {
		t.Skip("DID NOT RUN: run make lucene, which needs a JDK")
	}
	const prefix = "tags.vibe.key\x00"
	a, err := automaton.Regexp("[a-z]~b")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{`"` + prefix + `"()|submission.email.*~)`, `"` + prefix + `"([a-z]~b)`, `"` + prefix + `"([a-z]\~b)`, `"` + prefix + `"([a-z]`}
	for _, j := range judges(t) {
		for _, text := range texts {
			j.ask(t, text, prefix, a)
		}
		differences, _ := j.finish(t)
		wrong := []bool{true, strings.HasPrefix(j.version, "9."), false, true}
		for i := range texts {
			if reason, found := differences[i]; found != wrong[i] {
				t.Errorf("Lucene %s, %q: difference %q, want one: %v", j.version, texts[i], reason, wrong[i])
			}
		}
	}
}

// TestLuceneLimits checks that no version of Lucene refuses patterns with as many repetitions as Vitrine accepts.
func TestLuceneLimits(t *testing.T) {
	t.Parallel()
	if os.Getenv("VITRINE_LUCENE") == "" {
		t.Skip("DID NOT RUN: run make lucene, which needs a JDK")
	}
	const prefix = "tags.vibe.key\x00"
	patterns := []string{
		strings.Repeat("a?", 100), strings.Repeat("([a-c]|-)?", 100), strings.Repeat("a.*", 100), strings.Repeat("(ab)+", 50),
		strings.Repeat("a{2,5}", 20), strings.Repeat("(", 5) + "a" + strings.Repeat("b)+", 5), "(.?){50}", ".{100}", "(a|b){0,100}c",
	}
	for _, j := range judges(t) {
		for _, p := range patterns {
			a, err := automaton.Regexp(p)
			if err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			source, _ := automaton.Source(a)
			j.ask(t, automaton.Concat(automaton.Literal(prefix), source.Trim(query.Folded)).Print(), prefix, a)
		}
		if differences, complex := j.finish(t); len(differences) > 0 || complex > 0 {
			t.Errorf("Lucene %s: differences %v, %d too complex", j.version, differences, complex)
		}
	}
}

// judge is a process that compares regular expressions in one version of Lucene with automata.
type judge struct {
	version string
	process *exec.Cmd
	input   io.Closer
	buffer  *bufio.Writer
	output  io.Reader
	errors  bytes.Buffer
}

// judges starts one process for each version of Lucene.
func judges(t *testing.T) []*judge {
	t.Helper()
	java, jars := nodetest.Lucene(t)
	source := filepath.Join(t.TempDir(), "Judge.java")
	if err := os.WriteFile(source, judgeSource, 0o600); err != nil {
		t.Fatal(err)
	}
	var list []*judge
	for _, jar := range jars {
		j := &judge{version: strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jar), "lucene-core-"), ".jar")}
		j.process = exec.CommandContext(t.Context(), java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", jar, source)
		j.process.Stderr = &j.errors
		input, err := j.process.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		j.input, j.buffer = input, bufio.NewWriterSize(input, 1<<16)
		if j.output, err = j.process.StdoutPipe(); err != nil {
			t.Fatal(err)
		}
		if err := j.process.Start(); err != nil {
			t.Fatal(err)
		}
		list = append(list, j)
	}
	return list
}

// ask sends a regular expression, and the automaton that it should equal after the prefix.
func (j *judge) ask(t *testing.T, text, prefix string, a automaton.Automaton) {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	b = append(b, text...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(prefix)))
	b = append(b, prefix...)
	if _, err := j.buffer.Write(appendStates(b, a)); err != nil {
		t.Fatalf("%v\n%s", err, j.errors.String())
	}
}

// appendStates appends the number of states, and for each state whether it accepts, the number of its ranges of bytes, and for each range
// its first and last byte and the next state.
func appendStates(b []byte, a automaton.Automaton) []byte {
	if !a.CanMatch(a.Start()) {
		return binary.BigEndian.AppendUint32(b, 0)
	}
	states := []int{a.Start()}
	numbers := map[int]uint32{a.Start(): 0}
	var body []byte
	for i := 0; i < len(states); i++ {
		s, count, ranges := states[i], uint32(0), []byte(nil)
		for lo := 0; lo < 256; {
			to, hi := a.Accept(s, byte(lo)), lo
			for hi < 255 && a.Accept(s, byte(hi+1)) == to {
				hi++
			}
			if a.CanMatch(to) {
				n, known := numbers[to]
				if !known {
					n = uint32(len(states))
					numbers[to] = n
					states = append(states, to)
				}
				count++
				ranges = binary.BigEndian.AppendUint32(append(ranges, byte(lo), byte(hi)), n)
			}
			lo = hi + 1
		}
		accepts := byte(0)
		if a.IsMatch(s) {
			accepts = 1
		}
		body = append(binary.BigEndian.AppendUint32(append(body, accepts), count), ranges...)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(states))), body...)
}

// finish ends the process. It returns the differences by the number of the question, and the number of expressions that Lucene refused as
// too complex.
func (j *judge) finish(t *testing.T) (differences map[int]string, complex int) {
	t.Helper()
	if err := binary.Write(j.buffer, binary.BigEndian, int32(-1)); err != nil {
		t.Fatalf("%v\n%s", err, j.errors.String())
	}
	if err := j.buffer.Flush(); err != nil {
		t.Fatalf("%v\n%s", err, j.errors.String())
	}
	differences = map[int]string{}
	done := false
	for lines := bufio.NewScanner(j.output); lines.Scan(); {
		first, rest, _ := strings.Cut(lines.Text(), " ")
		if first == "done" {
			_, counted, _ := strings.Cut(rest, " ")
			complex, _ = strconv.Atoi(counted)
			done = true
			continue
		}
		i, err := strconv.Atoi(first)
		if err != nil {
			t.Fatalf("the judge wrote %q", lines.Text())
		}
		differences[i] = rest
	}
	if err := j.process.Wait(); err != nil || !done {
		t.Fatalf("the judge failed: %v\n%s", err, j.errors.String())
	}
	return differences, complex
}

// patternGenerator generates patterns.
type patternGenerator struct{ *rand.Rand }

// nasty contains the characters that have or had a meaning in a version of Lucene, and others with a special encoding.
var nasty = []string{
	`"`, `"`, `)`, `)`, `(`, `(`, `|`, `|`, `~`, `&`, `@`, `#`, `<`, `>`, `<1-5>`, `<07-12>`, `[`, `]`, `[^`, `-`, `^`, `$`, `\`, `\`, `\\`, `\-`, `\]`, `\"`, `\)`, `.`,
	`*`, `?`, `+`, `{`, `}`, `{2}`, `{1,}`, `{0,2}`, `,`, `:`, `/`, `\d`, `\w`, `\s`, `\D`, ` `, `\ `, "\t", "\n", "\x00", "\x7f", "\u0080", "\uD7FF", "\uE000", "\uFFFF",
	"\U00010000", "\U0010FFFF", "😀", "é", "東", "a", "b", "d", "u", "0", "7", "submission.email", "()", `[\--]`, `[\`, "`", "_", "!", "%", "'", ";", "=",
}

// leaf returns the leaf of a random pattern that Vitrine accepts on a random dynamic field.
func (g *patternGenerator) leaf(t *testing.T) plan.Pattern {
	fields := []string{"tags.vibe.key", `content.platform_ref:a"b)|(\`, "submission.e~mail", "submission.\U0010FFFF[^"}
	field := query.FieldName{Name: fields[max(0, g.IntN(8)-4)]}
	for {
		var n query.Node
		switch g.IntN(10) {
		case 0:
			n = query.Wildcard{Leaf: query.Leaf{Field: field}, Pattern: "a" + g.soup(8)}
		case 1, 2, 3, 4:
			n = query.Regexp{Leaf: query.Leaf{Field: field}, Pattern: g.soup(12)}
		default:
			n = query.Regexp{Leaf: query.Leaf{Field: field}, Pattern: g.tree(4)}
		}
		built, err := plan.Build(n, plan.Options{Audience: query.Private, Now: time.Unix(0, 0)})
		if err != nil {
			continue
		}
		found := leaves(built.Root)
		if len(found) != 1 {
			t.Fatalf("%v: %d leaves", n, len(found))
		}
		if p, ok := found[0].(plan.Pattern); ok && automaton.Size(p.Automaton) < 500 {
			return p
		}
	}
}

// soup returns random characters.
func (g *patternGenerator) soup(length int) string {
	var b strings.Builder
	for range 1 + g.IntN(length) {
		b.WriteString(nasty[g.IntN(len(nasty))])
	}
	return b.String()
}

// tree returns a regular expression of the grammar with nasty characters.
func (g *patternGenerator) tree(depth int) string {
	if depth == 0 {
		switch g.IntN(8) {
		case 0:
			return `"` + strings.ReplaceAll(g.soup(3), `"`, "") + `"`
		case 1, 2:
			return g.class()
		case 3:
			return []string{".", "@", "#", "()", `\d`, `\w`, `\s`}[g.IntN(7)]
		case 4:
			return fmt.Sprintf("<%d-%d>", g.IntN(30), g.IntN(300))
		case 5, 6:
			return `\` + string([]rune(`"()|~&@#<>[]-^$\.*?+{},:/ `)[g.IntN(26)])
		}
		return nasty[g.IntN(len(nasty))]
	}
	inner := func() string { return g.tree(depth - 1 - g.IntN(depth)) }
	switch g.IntN(6) {
	case 0, 1:
		return inner() + inner()
	case 2:
		return "(" + inner() + "|" + inner() + ")"
	case 3:
		return "(" + inner() + ")" + []string{"*", "+", "?", "{2}", "{1,3}", "{0,2}", "{1,}", "{0}"}[g.IntN(8)]
	case 4:
		return "(" + inner() + "&" + inner() + ")"
	default:
		return inner() + "|" + inner()
	}
}

// class returns a class with nasty members.
func (g *patternGenerator) class() string {
	var b strings.Builder
	b.WriteString([]string{"[", "[^"}[g.IntN(2)])
	for range 1 + g.IntN(4) {
		one := func() string {
			r := []rune("!\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~ \x00\x1f\x7f\u0080\uD7FF\uE000\uFFFF\U00010000\U0010FFFF")
			c := string(r[g.IntN(len(r))])
			if c != "A" && c != "Z" && c != "a" && c != "z" && g.IntN(2) == 0 {
				c = `\` + c
			}
			return c
		}
		b.WriteString(one())
		if g.IntN(2) == 0 {
			b.WriteString("-" + one())
		}
	}
	return b.String() + "]"
}
