// Command prose uses Vale to check the texts that people read: the pages of the repository, messages in Go code, descriptions of the kinds
// and of the HTTP API, and alerts. The rules are in vale.ini and styles/Vitrine. From the root of the repository:
//
//	go run ./hack/prose
//
// It prints a line for each finding and fails if there is one. Vale alone was refused, because it reads comments of Go code, but no messages.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

// text is one text from the source of a program, and its place.
type text struct{ place, text string }

func run(ctx context.Context) error {
	files, err := exec.CommandContext(ctx, "git", "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("list the files: %w", err)
	}
	var pages []string
	var texts []text
	for file := range strings.Lines(string(files)) {
		file = strings.TrimSpace(file)
		var found []text
		switch {
		case strings.Contains(file, "testdata/") || written(file):
		case strings.HasSuffix(file, ".md"):
			pages = append(pages, file)
		case strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "librarytest/"):
			found, err = messages(file)
		case strings.HasPrefix(file, "config/crd/bases/"), file == "config/monitoring/rules.yaml", file == "server/httpapi/openapi.json":
			found, err = descriptions(file)
		}
		if err != nil {
			return err
		}
		texts = append(texts, found...)
	}
	findings, err := check(ctx, pages, texts)
	if err != nil {
		return err
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	fmt.Printf("prose: checked %d pages and %d texts: %d findings\n", len(pages), len(texts), len(findings))
	if len(findings) > 0 {
		return errors.New("rewrite these texts (the rules are in hack/prose/styles)")
	}
	return nil
}

// written reports whether a page is generated. The check skips generated pages, because their texts are in templates and in the code.
func written(file string) bool {
	return file == "docs/benchmarks.md" || file == "docs/growth.md" || file == "docs/scale.md" || strings.HasPrefix(file, "docs/reference/")
}

// finding is one finding of Vale.
type finding struct {
	Line           int
	Message, Check string
}

// check runs Vale on the pages and on the texts, which it writes to a file with one text per line.
func check(ctx context.Context, pages []string, texts []text) ([]string, error) {
	dir, err := os.MkdirTemp("", "prose-")
	if err != nil {
		return nil, fmt.Errorf("create a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	var lines strings.Builder
	for _, t := range texts {
		lines.WriteString(t.text + "\n\n")
	}
	extracted := filepath.Join(dir, "texts.md")
	if err := os.WriteFile(extracted, []byte(lines.String()), 0o600); err != nil {
		return nil, fmt.Errorf("write the texts: %w", err)
	}
	vale := exec.CommandContext(ctx, "go", append([]string{
		"tool", "-modfile=hack/tools/vale/go.mod", "vale", "--no-global", "--config=hack/prose/vale.ini", "--output=JSON", "--no-exit", extracted,
	}, pages...)...)
	vale.Stderr = os.Stderr
	out, err := vale.Output()
	if err != nil {
		return nil, fmt.Errorf("run vale: %w", err)
	}
	var reported map[string][]finding
	if err := json.Unmarshal(out, &reported); err != nil {
		return nil, fmt.Errorf("read what vale reports: %w", err)
	}
	var all []string
	for file, findings := range reported {
		for _, f := range findings {
			place := fmt.Sprintf("%s:%d", file, f.Line)
			if file == extracted {
				place = texts[(f.Line-1)/2].place
			}
			all = append(all, fmt.Sprintf("%s: %s (%s)", place, f.Message, f.Check))
		}
	}
	slices.Sort(all)
	return all, nil
}

var (
	verb = regexp.MustCompile(`%[-+#0-9.\[\]]*[a-zA-Z]`)
	word = regexp.MustCompile(`\b[a-z]{2,}\b`)
)

// prose returns s on one line, with a letter in place of each format verb. ok is false if s has fewer than three words.
func prose(s string) (_ string, ok bool) {
	letter := 'A' - 1
	s = verb.ReplaceAllStringFunc(s, func(string) string { letter++; return string(letter) })
	s = strings.Join(strings.Fields(s), " ")
	return s, len(word.FindAllString(s, 3)) == 3 && strings.Contains(s, " ")
}

// messages returns the string literals of a Go file that are prose.
func messages(file string) ([]text, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	var texts []text
	ast.Inspect(parsed, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		s, err := strconv.Unquote(literal.Value)
		if err != nil || strings.Contains(s, "{{") { // a template
			return true
		}
		for paragraph := range strings.SplitSeq(s, "\n\n") {
			if s, ok := prose(paragraph); ok {
				texts = append(texts, text{set.Position(literal.Pos()).String(), s})
			}
		}
		return true
	})
	return texts, nil
}

// descriptions returns the prose in the members description, summary and message of a YAML or JSON file.
func descriptions(file string) ([]text, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	var document any
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("parse %s: %w", file, err)
	}
	var texts []text
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for member, of := range v {
				s, isText := of.(string)
				if isText && (member == "description" || member == "summary" || member == "message") {
					if s, ok := prose(s); ok {
						texts = append(texts, text{file + path + "." + member, s})
					}
				}
				walk(path+"."+member, of)
			}
		case []any:
			for i, of := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), of)
			}
		}
	}
	walk("", document)
	slices.SortFunc(texts, func(a, b text) int { return cmp.Compare(a.place, b.place) })
	return texts, nil
}
