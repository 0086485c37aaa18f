package parity

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// curated contains the queries that were written by hand.
//
//go:embed testdata/curated.txt
var curated string

// refused is the family of queries that both sides must reject.
const refused = "refused"

// question is one query to compare, with its order and its family.
type question struct {
	family, text string
	order        string // a sort string; "" means by relevance
}

// questions parses queries, one per line. "## name" begins a family. Blank lines, and lines that begin with "# ", are ignored.
func questions(text string) []question {
	var list []question
	family := ""
	for _, line := range strings.Split(text, "\n") {
		switch name, isFamily := strings.CutPrefix(line, "## "); {
		case isFamily:
			family = name
		case line == "" || strings.HasPrefix(line, "# "):
		default:
			list = append(list, question{family: family, text: line})
		}
	}
	return list
}

// orders returns a question for each field by which items can be sorted, in each direction.
func orders() []question {
	var list []question
	for _, field := range query.SortableFields(query.Private) {
		if field == query.ScoreKey || field == query.RandomKey {
			continue
		}
		for _, direction := range []string{":asc", ":desc"} {
			list = append(list, question{family: "orders", text: "*:*", order: field + direction})
		}
	}
	return list
}

// TestCurated checks that there are at least 300 different curated queries, and that our side rejects all queries of the family refused and
// no others.
func TestCurated(t *testing.T) {
	now := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	w := newWalker(corpus(t), now)
	seen := map[string]bool{}
	for _, q := range questions(curated) {
		if q.family == "" {
			t.Errorf("%s: is before the first family", q.text)
		}
		if seen[q.family+q.text] {
			t.Errorf("%s: %s occurs twice", q.family, q.text)
		}
		seen[q.family+q.text] = true
		parsed, err := query.Parse(q.text)
		if err == nil {
			_, err = w.plan(parsed.Root)
		}
		if refuses := err != nil; refuses != (q.family == refused) {
			t.Errorf("%s: %s: %v", q.family, q.text, err)
		}
	}
	if len(seen) < 300 {
		t.Errorf("%d curated queries, want 300 or more", len(seen))
	}
}

// TestOrders checks that every order is valid.
func TestOrders(t *testing.T) {
	list := orders()
	for _, q := range list {
		order, err := query.ParseOrder(q.order)
		if err != nil {
			t.Errorf("%s: %v", q.order, err)
		}
		if got := len(sorting(order)); got != 3 {
			t.Errorf("%s: OpenSearch gets %d sort keys, want the field and two for ties", q.order, got)
		}
	}
	if len(list) < 50 {
		t.Errorf("%d orders, want 50 or more", len(list))
	}
}

// TestExceptions checks that there are at most five exceptions, as the documentation states, and that each exception has a row in the
// documentation.
func TestExceptions(t *testing.T) {
	list := exceptions()
	if len(list) > 5 {
		t.Errorf("%d exceptions, want at most 5", len(list))
	}
	for page, list := range map[string][]exception{"query-language.md": list, "opensearch.md": clusterExceptions()[len(list):]} {
		text, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if !strings.Contains(string(text), "| "+e.name+" | ") {
				t.Errorf("docs/%s has no row for the exception %q", page, e.name)
			}
		}
	}
}

// TestEmptyValues checks an assumption of the comparison: the documents for OpenSearch contain no empty value, but they contain every text
// that has no word.
func TestEmptyValues(t *testing.T) {
	empty := map[string]int{}
	for _, d := range corpus(t) {
		for name, values := range d.fields {
			for _, v := range values {
				if v == "" {
					t.Errorf("item %d: %s has an empty value", d.id, name)
				}
			}
		}
		_, has := d.fields["content.text"]
		if has != (d.text != "") || has != d.doc.Has("content.text") {
			t.Errorf("item %d: OpenSearch has the text %q: %t, this library: %t", d.id, d.text, has, d.doc.Has("content.text"))
		}
		if has && len(d.words) == 0 {
			empty["texts without a word"]++
		}
	}
	if empty["texts without a word"] == 0 {
		t.Error("the corpus has no text without a word")
	}
}
