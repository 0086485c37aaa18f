package query_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

var update = flag.Bool("update", false, "rewrite the table of fields in docs/query-language.md")

const page = "../../docs/query-language.md"

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fieldTable returns the catalogue in the form of the table in the documentation.
func fieldTable() string {
	var b strings.Builder
	b.WriteString("| Field | Type | | Holds |\n| --- | --- | --- | --- |\n")
	for _, r := range query.Rows() {
		var marks []string
		if r.Sortable {
			marks = append(marks, "sort")
		}
		if r.InAll {
			marks = append(marks, "words")
		}
		if r.Private {
			marks = append(marks, "private")
		}
		about := r.About
		if aliases := query.Aliases(r.Name); len(aliases) > 0 {
			about += "; also as `" + strings.Join(aliases, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, r.Type, strings.Join(marks, ", "), about)
	}
	return b.String()
}

func TestDocumentationContainsTheCatalogue(t *testing.T) {
	text := readPage(t)
	const begin, end = "<!-- fields -->\n", "<!-- /fields -->"
	head, rest, ok := strings.Cut(text, begin)
	table, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table of fields", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+fieldTable()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(fieldTable(), table); diff != "" {
		t.Errorf("the table of fields in %s is not that of the catalogue; run this test with -update (-want +got):\n%s", page, diff)
	}
}

// rows returns the first two cells of each row in those tables whose first header cell equals the parameter first.
func rows(text, first string) [][2]string {
	var out [][2]string
	inside := false
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|")
		if len(cells) < 4 {
			inside = false
			continue
		}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
		}
		switch {
		case cells[1] == first:
			inside = true
		case inside && !strings.HasPrefix(cells[1], "---"):
			out = append(out, [2]string{strings.Trim(cells[1], "`"), cells[2]})
		}
	}
	return out
}

func TestExamplesOfThePage(t *testing.T) {
	text := readPage(t)
	constructs := map[string]bool{}
	for _, row := range rows(text, "Query") {
		parsed, err := query.Parse(row[0])
		if err != nil {
			t.Errorf("the example %s: %v", row[0], err)
			continue
		}
		warnings, err := query.Check(parsed.Root, query.Private)
		if err != nil || len(warnings) > 0 {
			t.Errorf("the example %s: %v, warnings %v", row[0], err, warnings)
		}
		query.Walk(parsed.Root, func(n query.Node) bool {
			constructs[fmt.Sprintf("%T", n)] = true
			return true
		})
		if canonical, ok := strings.CutPrefix(row[1], "`"); ok && strings.HasSuffix(canonical, "`") {
			if got := parsed.String(); got != strings.TrimSuffix(canonical, "`") {
				t.Errorf("the page says that %s is read as %s; it is read as %s", row[0], row[1], got)
			}
		}
	}
	for _, n := range []query.Node{
		query.Bool{}, query.Term{}, query.Phrase{}, query.Wildcard{}, query.Fuzzy{}, query.Regexp{}, query.Range{},
		query.Any{}, query.Exists{}, query.Missing{}, query.Boost{}, query.All{},
	} {
		if name := fmt.Sprintf("%T", n); !constructs[name] {
			t.Errorf("no example of %s", name)
		}
	}
	refused := rows(text, "Rejected query")
	for _, row := range refused {
		parsed, err := query.Parse(row[0])
		if err == nil {
			_, err = query.Check(parsed.Root, query.Private)
		}
		if err == nil || err.Error() != row[1] {
			t.Errorf("the page says of %s: %s\nit is: %v", row[0], row[1], err)
		}
	}
	if len(refused) < 3 || !slices.ContainsFunc(refused, func(r [2]string) bool { return strings.HasPrefix(r[0], "approval_status") }) {
		t.Errorf("the page shows %d refused queries", len(refused))
	}
}
