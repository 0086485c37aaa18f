package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is the page that explains conditions and reasons to users.
const page = "../../docs/kinds.md"

// TestPageExplainsEveryConditionAndReason compares the tables of the page with the constants: both have the same names, and each
// reason has a cause and a cure.
func TestPageExplainsEveryConditionAndReason(t *testing.T) {
	var conditions, reasons []string
	for name, value := range constants(t, "conditions.go") {
		switch {
		case strings.HasPrefix(name, "Reason"):
			reasons = append(reasons, value)
			if name != "Reason"+value {
				t.Errorf("%s is %q: name and value differ", name, value)
			}
		case strings.HasSuffix(name, "Condition"):
			conditions = append(conditions, value)
		default:
			t.Errorf("%s is neither a condition nor a reason", name)
		}
	}
	slices.Sort(conditions)
	slices.Sort(reasons)
	text := readPage(t)
	for heading, want := range map[string][]string{"| condition |": conditions, "| reason | cause | action |": reasons} {
		rows := tableAfter(t, text, heading)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(rows))); diff != "" {
			t.Errorf("the table %q (-constants +page):\n%s", heading, diff)
		}
		for name, cells := range rows {
			if slices.Contains(cells, "") {
				t.Errorf("%s: an empty cell in the table %q", name, heading)
			}
		}
	}
}

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tableAfter returns the first table whose header row starts with heading. It maps the name in the first cell of a row (in backticks) to
// the other cells.
func tableAfter(t *testing.T, text, heading string) map[string][]string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n"+heading)
	if !ok {
		t.Fatalf("there is no table %q", heading)
	}
	rows := map[string][]string{}
	for i, line := range strings.Split(rest, "\n") {
		if i < 2 {
			continue // the rest of the heading and the delimiter row
		}
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		name := strings.Trim(cells[0], "`")
		if _, twice := rows[name]; twice {
			t.Errorf("%s is in the table %q twice", name, heading)
		}
		rows[name] = cells[1:]
	}
	return rows
}

// constants returns the string constants of a file of this package.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			value, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values[name.Name] = value
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("no constants in %s", file)
	}
	return values
}
