package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// page is docs/gitops.md.
type page string

func readPage(file string) (page, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the manifests: %w", err)
	}
	return page(text), nil
}

// block is a YAML block of the page that is not indented.
var block = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// manifest returns the first manifest of a kind and a name on the page, in which each old text is replaced by the new one
// that follows it. It is an error when an old text is not there.
func (p page) manifest(kind, name string, replacements ...string) (string, error) {
	header := regexp.MustCompile(`(?m)^(?:metadata: \{|  )name: ` + regexp.QuoteMeta(name) + `(?:[,}]|$)`)
	for _, m := range block.FindAllStringSubmatch(string(p), -1) {
		for text := range strings.SplitSeq(m[1], "\n---\n") {
			if !strings.Contains("\n"+text+"\n", "\nkind: "+kind+"\n") || !header.MatchString(text) {
				continue
			}
			for i := 0; i < len(replacements); i += 2 {
				if !strings.Contains(text, replacements[i]) {
					return "", fmt.Errorf("docs/gitops.md: %s %s has no %q", kind, name, replacements[i])
				}
				text = strings.ReplaceAll(text, replacements[i], replacements[i+1])
			}
			return text + "\n", nil
		}
	}
	return "", fmt.Errorf("docs/gitops.md shows no %s %s", kind, name)
}

// line returns the command of the page that begins with prefix.
func (p page) line(prefix string) (string, bool) {
	for line := range strings.Lines(string(p)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, prefix) {
			return line, true
		}
	}
	return "", false
}

// apply applies a manifest of the page.
func (w *gitopsWalk) apply(ctx context.Context, kind, name string, replacements ...string) error {
	text, err := w.page.manifest(kind, name, replacements...)
	if err != nil {
		return err
	}
	_, err = w.cluster.run(ctx, text, "apply", "-f", "-")
	return err
}
