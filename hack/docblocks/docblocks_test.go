package docblocks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestYAML(t *testing.T) {
	const page = "# Page\n\n```yaml\na: 1\n---\nb:\n  - 2\n```\n\n    ```sh\n    c\n    ```\n\n- point\n\n  ```yaml\n  d:\n    e: 3\n  ```\n\n```yaml\nf: 4\n"
	want := []string{"a: 1", "b:\n  - 2\n", "d:\n  e: 3\n"}
	if diff := cmp.Diff(want, YAML(page)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func TestCommands(t *testing.T) {
	const page = "# Page\n\n```sh\na\nb\n```\n\n```text\n1\n```\n\n```text\nmore\n```\n\n```sh fails\nc\n```\n\nText.\n\n```text\nno output\n```\n\n    ```sh\n    d\n    ```\n\n```\nplain\n```\n" +
		"\n## Part\n\n```sh cluster\n# e\n```\n\n```text\n2\n```\n\n```sh not run: f\nf\n```\n\n```sh cluster fails\ng\n```\n"
	for language, want := range map[string][]Command{
		Smoke: {
			{Line: 4, Section: "Page", Script: "a\nb\n", Output: "1\n"},
			{Line: 17, Section: "Page", Script: "c\n", Fails: true},
			{Line: 27, Section: "Page", Script: "    d\n"},
		},
		Cluster: {
			{Line: 37, Section: "Part", Script: "# e\n", Output: "2\n"},
			{Line: 49, Section: "Part", Script: "g\n", Fails: true},
		},
	} {
		if diff := cmp.Diff(want, Commands(page, language)); diff != "" {
			t.Errorf("commands of %s (-want +got):\n%s", language, diff)
		}
	}
}

// TestJudge runs scripts, and checks whether Judge accepts their results.
func TestJudge(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"a later block sees variables", "```sh\na=1\n```\n```sh\necho $a\n```\n```text\n1\n```\n", ""},
		{"fails as marked", "```sh fails\nfalse\n```\n", ""},
		{"another output", "```sh\necho 1\n```\n```text\n2\n```\n", "x.md:2: the page shows\n2\n\nbut the commands print\n1\n"},
		{"a command fails", "```sh\necho 1\nfalse\n```\n", "x.md:2: the commands ended unexpectedly:\n1\n"},
		{"does not fail", "```sh fails\ntrue\n```\n", "x.md:2: the commands ended unexpectedly:\nthe last command did not fail, but the page says that it fails\n"},
		{"an undefined variable", "```sh\ntrue $b\n```\n", "x.md:2: the commands ended unexpectedly:\n"}, // plus the shell's message
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "it's")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			commands := Commands(c.page, Smoke)
			_ = exec.Command("sh", "-c", Script(dir, commands)).Run() // ignore the error, because Judge reports how the script ended
			got := ""
			if err := Judge("x.md", dir, commands); err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMatches(t *testing.T) {
	const table = "NAME   READY   AGE\nx      True    12s\n"
	for _, c := range []struct {
		name, shown, got string
		want             bool
	}{
		{"equal", table, table, true},
		{"age and width", table, "NAME  READY  AGE\nx  True  3m10s  \n", true},
		{"timestamp", "x 2026-11-22T10:00:00Z\n", "x 2027-01-01T00:00:00.5Z\n", true},
		{"another value", table, "NAME  READY  AGE\nx  False  12s\n", false},
		{"a line is missing", table, "NAME  READY  AGE\n", false},
		{"port", "at https://127.0.0.1:8443/x\n", "at https://127.0.0.1:40001/x\n", true},
		{"text in a line", `{"total":2,…}`, `{"total":2,"items":[]}`, true},
		{"text in a line, another value", `{"total":2,…}`, `{"total":3,"items":[]}`, false},
		{"lines", "first\n…\nlast\n", "first\n2\n3\nlast\n", true},
		{"no lines", "first\n…\nlast\n", "first\nlast\n", true},
		{"lines, another end", "first\n…\nlast\n", "first\n2\n", false},
		{"special characters", "a.b (c)\n", "axb (c)\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Matches(c.shown, c.got); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
