package house

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNewLeaf adds an operator to the query language, #5, which finds items with a word of five characters, as the row about leaves in
// CONTRIBUTING.md says. With changes in only the Go files of the row, queries with #5 are parsed, planned, evaluated in the same way by the
// engine and by the reference, and translated for OpenSearch.
func TestNewLeaf(t *testing.T) {
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	o := &overlay{t: t, root: top, files: map[string]string{}}

	const lexer = "server/query/lexer.go"
	o.insert(lexer, "	tokComma ", "	tokLength\n")
	o.insert(lexer, "	case '~':", "	case '#':\n		end, err := p.wordEnd(at+1, list, false)\n		return token{tokLength, at, end}, err\n")
	o.files[lexer] = strings.Replace(o.read(lexer), "`+-!()", "`#+-!()", 1)
	const value = "server/query/value.go"
	o.insert(value, "	case tokQuoted, tokPrefix", "	case tokLength:\n")
	o.insert(value, "	case tokRegexp:", "	case tokLength:\n		return p.length(tok, in)\n")
	o.files["server/query/length.go"] = newLeafQuery

	const plan = "server/query/plan/plan.go"
	o.insert(plan, "	// Const matches", "	// Length matches items in which Field has a term of Runes characters. Its score is 1.\n"+
		"	Length struct {\n		Field query.Field\n		Runes int\n	}\n\n")
	o.files[plan] = o.read(plan) + "\nfunc (Length) plan() {}\n\n// LooksAt implements Leaf.\nfunc (n Length) LooksAt() query.Field { return n.Field }\n"
	const text = "server/query/plan/text.go"
	o.files[text] = o.read(text) + "\n// String implements Leaf.\nfunc (n Length) String() string { return n.Field.Name + \":#\" + strconv.Itoa(n.Runes) }\n"
	o.insert("server/query/plan/build.go", "	case query.Regexp:", "	case query.Length:\n		return Length{Field: f, Runes: n.Runes}, nil\n")

	o.insert("server/eval/clause.go", "	case plan.Exists:", `	case plan.Length:
		return inField(n.Field, boost, func(f *field) bool {
			for t := range f.terms {
				if len([]rune(t)) == n.Runes {
					return true
				}
			}
			return false
		}), nil
`)
	o.insert("server/engine/search/bind.go", "	case plan.Exists:", "	case plan.Length:\n		return b.leaf(ctx, n.Field, &length{n.Runes})\n")
	o.files["server/engine/search/leaf_length.go"] = newLeafSearch
	o.insert("server/opensearch/translate/leaf.go", "	case plan.Exists:", `	case plan.Length:
		terms, err := automaton.Regexp(fmt.Sprintf(".{%d}", n.Runes))
		if err != nil {
			return nil, err
		}
		q, err := pattern(plan.Pattern{Field: n.Field, Automaton: terms}, field)
		return constant(q, 1), err
`)

	row := regexp.MustCompile(`(?m)^\| a query operator \(leaf\) \|.*$`).FindString(o.read("CONTRIBUTING.md"))
	always, other, _ := strings.Cut(row, ". If it has a token of its own, also ")
	if !strings.HasPrefix(other, "`"+lexer+"`") {
		t.Errorf("the row about leaves in CONTRIBUTING.md does not name %s for a token: %q", lexer, row)
	}
	named := regexp.MustCompile("`[^`]+\\.go`").FindAllString(always, -1)
	if len(named) != 9 || len(o.files) != 9+1 {
		t.Errorf("this test changes %d Go files, one of them for a token, and CONTRIBUTING.md names %q for a new leaf", len(o.files), named)
	}
	for path := range o.files {
		if path != lexer && !strings.Contains(always, "`"+strings.Replace(path, "length", "<leaf>", 1)+"`") {
			t.Errorf("the row about leaves in CONTRIBUTING.md does not name %s", path)
		}
	}

	o.files["server/engine/newleaf_test.go"] = newLeafTest
	if out, err := o.run("test", "-v", "-run", "^TestLength$", "./server/engine"); err != nil || !strings.Contains(out, "--- PASS: TestLength") {
		t.Errorf("with the new leaf: %v\n%s", err, out)
	}
}

// newLeafQuery is the leaf in the query language.
const newLeafQuery = `package query

import (
	"strconv"
	"strings"
)

// Length is #N. It matches terms of Runes characters.
type Length struct {
	Leaf
	Runes int
}

func (p *parser) length(tok token, in scope) (Node, error) {
	runes, err := strconv.Atoi(string(p.src[tok.start+1 : tok.end]))
	if err != nil {
		return nil, p.errorAt(tok.start, "bad length", "a number of characters, such as #5")
	}
	return Length{Leaf: Leaf{in.field, p.at(tok.start)}, Runes: runes}, nil
}

// String returns [field:]#N.
func (n Length) String() string {
	var b strings.Builder
	n.Field.write(&b)
	return b.String() + "#" + strconv.Itoa(n.Runes)
}

func (Length) construct() string { return "a length" }
`

// newLeafSearch is the test with which the engine finds documents.
const newLeafSearch = `package search

import (
	"context"
	"strconv"
	"unicode/utf8"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// length is a test for terms of a number of characters.
type length struct{ runes int }

func (t *length) find(_ context.Context, s *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	u := newUnion(s.Len(), nil)
	for term, p := range f.Ascend("") {
		if t.holds(string(term)) {
			u.add(p)
		}
	}
	return u.set(), nil
}

func (t *length) holds(s string) bool         { return utf8.RuneCountInString(s) == t.runes }
func (t *length) appendKey(key []byte) []byte { return strconv.AppendInt(append(key, '#'), int64(t.runes), 10) }
func (t *length) price() int                  { return 40 }
`

// newLeafTest is a test of the package engine with the new leaf.
const newLeafTest = `package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/translate"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/reference"
)

func TestLength(t *testing.T) {
	parse := func(text string) query.Query {
		parsed, err := query.ParseFor(text, query.Private)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	if _, err := query.ParseFor("campaign:#5", query.Private); err == nil || !strings.HasPrefix(err.Error(), "a length on the number field") {
		t.Errorf("on a number: %v", err)
	}
	if s, ok := query.SpotAt("text:#5 ", 7); ok {
		t.Errorf("an editor completes a length: %+v", s)
	}
	ref, err := reference.Open(reference.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer ref.Close()
	owner := func(k library.Kind) library.Owner {
		return library.Owner{Install: "cluster", Kind: k, Namespace: "shop", Name: "sale"}
	}
	tag := library.TagRule{Tag: item.Tag{Namespace: "vibe", Key: "quiet"}, Items: []item.ID{3}, Selector: "text:#6"}
	unit := library.UnitRule{
		Unit: item.Unit{ID: library.UnitID(trialShop, "shop", "sale"), Name: "Sale", ImageURL: "https://a.example/a.png", ClickThroughURL: "https://a.example/"},
		Selector: "tags.vibe:#5",
	}
	items := []*item.Item{
		{ID: 1, Content: item.Content{Text: "the beach"}, Tags: []item.Tag{{Namespace: "vibe", Key: "bold"}}},
		{ID: 2, Content: item.Content{Text: "a summer night"}},
		{ID: 3, Content: item.Content{Text: "sea"}},
	}
	engine := openShop(t, Options{sealDocs: 2})
	libraries := []library.Library{engine, ref}
	for _, l := range libraries {
		results, err := l.Apply(t.Context(), []library.Definition{
			definedProperty(trialShop),
			{Property: trialShop, Owner: owner(library.KindTag), Tag: &tag},
			{Property: trialShop, Owner: owner(library.KindUnit), Unit: &unit},
		})
		if err := errors.Join(err, results[0].Err, results[1].Err, results[2].Err); err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			it := *it
			it.ApprovalStatus, it.Content.ContentType, it.CreatedOn = item.Approved, item.Image, "2026-11-20T08:00:00Z"
			if outcomes, err := l.Write(t.Context(), trialShop, []library.Mutation{{Put: &it}}); err != nil || outcomes[0].Err != nil {
				t.Fatal(err, outcomes)
			}
		}
	}
	order, err := query.ParseOrderFor("id:asc", query.Private)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]item.ID{
		"#5":                     {1, 2},
		"text:#5":                {1, 2},
		"text:#3 -beach":         {3},
		"text:(#6,sea)^2":        {2, 3},
		"tags.vibe:#4":           {1},
		"tags.vibe:#5":           {2, 3},
		"tags.\\*:#5":            {2, 3},
		"activate_units.name:#4": {2, 3},
		"text:#7":                nil,
	} {
		parsed := parse(text)
		if diff := cmp.Diff(parsed.Root, parse(parsed.String()).Root); diff != "" {
			t.Errorf("%s has the text %s: %s", text, parsed, diff)
		}
		read := library.Read{Property: trialShop, Audience: query.Private, Query: parsed.Root, Order: order, Limit: 10, OnlyIDs: true}
		var explained []*library.Explanation
		for _, l := range libraries {
			page, err := l.Read(t.Context(), read)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, page.IDs, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%T, %s: %s", l, text, diff)
			}
			x, err := l.Explain(t.Context(), read, 2)
			if err != nil {
				t.Fatal(err)
			}
			explained = append(explained, x)
		}
		if diff := cmp.Diff(explained[0], explained[1]); diff != "" {
			t.Errorf("%s is explained differently: %s", text, diff)
		}
		if x := explained[0]; text == "text:#5" && (x.Clause != "content.text:#5" || x.Score != 1) {
			t.Errorf("%s is explained: %+v", text, x)
		}
	}
	for text, want := range map[string]string{
		"text:#5":      ` + "`" + `{"constant_score":{"boost":1,"filter":{"regexp":{"content.text":{"flags":"INTERSECTION","max_determinized_states":100000,"value":".{5}"}}}}}` + "`" + `,
		"tags.vibe:#5": ` + "`" + `{"constant_score":{"boost":1,"filter":{"regexp":{"dynamic":{"flags":"INTERSECTION","max_determinized_states":100000,"value":"tags\\.vibe\\.key\u0000.{5}"}}}}}` + "`" + `,
	} {
		p, err := plan.Build(parse(text).Root, plan.Options{Now: time.Unix(0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		q, err := (&translate.Translator{Documents: translate.NewDocuments(&definitions.Catalogue{}, nil)}).Query(t.Context(), p.Root)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(q); err != nil || string(got) != want {
			t.Errorf("%s is translated to %s, %v\nwant %s", text, got, err, want)
		}
	}
}
`
