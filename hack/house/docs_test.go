package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// link matches a Markdown link to a file of the repository, up to the anchor in the link.
	link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	// place matches the path of a file or folder below a top-level folder, in the form that the documents use.
	place = regexp.MustCompile("`((?:api|cmd|config|controllers|docs|hack|server|templates)/[A-Za-z0-9_./-]+)`")
)

// TestDocuments checks that all links and paths in README, CONTRIBUTING and docs exist.
func TestDocuments(t *testing.T) {
	documents := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no documents in %s: %v", pattern, err)
		}
		for _, path := range found {
			documents = append(documents, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))
		}
	}
	for _, name := range documents {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			}
		}
		for _, m := range place.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
	}
}

// blocks matches the languages of blocks on a page whose commands are tested. hack/docblocks explains the languages that begin with sh.
var blocks = regexp.MustCompile(`^(sh( cluster)?( fails)?|sh not run: \S.*|text|yaml)$`)

// TestCommands checks that the pages about clusters have only blocks whose language says whether a test runs them. An indented block has
// no language.
func TestCommands(t *testing.T) {
	for _, name := range []string{"admission", "console-setup", "gitops", "install", "monitoring", "opensearch", "operations", "security"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		within, empty := false, true
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			language, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case fence && !within && !blocks.MatchString(language):
				t.Errorf("docs/%s.md:%d: the language %q: write sh, sh cluster, sh not run: REASON, yaml or text", name, number, language)
			case !fence && !within && empty && strings.HasPrefix(line, "    "):
				t.Errorf("docs/%s.md:%d: an indented block: write a block with a language", name, number)
			}
			within = within != fence // a fence begins or ends a block
			empty = strings.TrimSpace(line) == ""
		}
		if within {
			t.Errorf("docs/%s.md: a block does not end", name)
		}
	}
}

// pinned matches a version of Vitrine in a document or a manifest: the tag of the image, of the repository, or of the chart.
var pinned = regexp.MustCompile(`(?:vitrine:|[?]ref=|[tT]ag: |targetRevision: |vitrine-)v?\d+\.\d+\.\d+`)

// TestVersions checks that documents and manifests contain no version of Vitrine, because only the Git tag defines the version. It allows
// v0.1.0, which pages about releases use as an example.
func TestVersions(t *testing.T) {
	for _, pattern := range []string{"README.md", "docs/*.md", "config/*/*.yaml", "config/chart/templates/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range pinned.FindAllString(string(text), -1) {
				if !strings.HasSuffix(m, "0.1.0") {
					t.Errorf("%s names a version, which may not exist: %s", path, m)
				}
			}
		}
	}
}
