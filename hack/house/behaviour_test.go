package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// promise matches a row of docs/behaviour.md, which consists of the promise, the file of a test, and the test's name.
var promise = regexp.MustCompile("(?m)^\\| (.+) \\| `([^`]+)` \\| (.+) \\|$")

// TestBehaviour checks that every test in docs/behaviour.md exists. A test is a test function, a spec, or a case in a table.
func TestBehaviour(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "behaviour.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := promise.FindAllStringSubmatch(string(page), -1)
	headers := 2 * strings.Count(string(page), "\n| promise | ")
	if n := strings.Count(string(page), "\n| ") - headers; len(rows) != n || n < 20 {
		t.Errorf("%d of %d rows name a promise, a file and a test", len(rows), n)
	}
	for _, row := range rows {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(row[2])))
		if err != nil {
			t.Errorf("%s: %v", row[1], err)
			continue
		}
		quoted := strings.Contains(string(text), `"`+row[3]+`"`)
		function := strings.HasPrefix(row[3], "Test") && strings.Contains(string(text), "\nfunc "+row[3]+"(")
		if !strings.HasSuffix(row[2], "_test.go") || !quoted && !function {
			t.Errorf("%s: %s has no test %q", row[1], row[2], row[3])
		}
	}
}
