package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

// chapter is a part of README's tour: what is done, and the commands.
type chapter struct {
	title  string // the bold words that it begins with
	script string
}

// readTour takes the tour from README: under the heading `## Five minutes`, paragraphs that begin with bold words, each
// followed by commands that are indented by four spaces. What stands before the first of them is no chapter.
func readTour(readme string) ([]chapter, error) {
	_, rest, found := strings.Cut(readme, "\n## Five minutes\n")
	if !found {
		return nil, errors.New("README has no section `Five minutes`")
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	var tour []chapter
	for line := range strings.Lines(section) {
		if bold, ok := strings.CutPrefix(line, "**"); ok {
			title, _, _ := strings.Cut(bold, ".**")
			tour = append(tour, chapter{title: title})
			continue
		}
		if command, ok := strings.CutPrefix(line, "    "); ok && len(tour) > 0 {
			tour[len(tour)-1].script += command
		}
	}
	if len(tour) == 0 {
		return nil, errors.New("README's section `Five minutes` has no steps")
	}
	return tour, nil
}

// tourChecks say of each chapter's output what is wrong with it, given the output of all chapters before.
var tourChecks = map[string]func(output string, before map[string]string) error{
	"Apply a filter": func(output string, _ map[string]string) error {
		return contains(output, "contentfilter.vitrine.dev/tour created", "contentfilter.vitrine.dev/tour condition met")
	},
	"Read it over HTTP": func(output string, _ map[string]string) error {
		total, err := totalOf(output)
		if err == nil && total == 0 {
			err = errors.New("the filter is empty")
		}
		return err
	},
	"Break its query": func(output string, before map[string]string) error {
		if err := contains(output, "condition met", "position"); err != nil {
			return err
		}
		was, err := totalOf(before["Read it over HTTP"])
		if err != nil {
			return err
		}
		is, err := totalOf(output)
		if err == nil && is != was {
			err = fmt.Errorf("the last good version listed %d items, the broken one lists %d", was, is)
		}
		return err
	},
	"Tag by rule": func(output string, _ map[string]string) error {
		total, err := totalOf(output)
		if err == nil && total == 0 {
			err = errors.New("no item is found by the tag")
		}
		return err
	},
	// A deletion is served a moment after kubectl reports it, so walkReadme looks for its effect itself.
	"Delete both": func(output string, _ map[string]string) error {
		if _, err := totalOf(output); err != nil {
			return err
		}
		return contains(output, `contentfilter.vitrine.dev "tour" deleted`, `tag.vitrine.dev "tour" deleted`)
	},
}

// walkReadme runs the tour of README word for word, in one shell, and checks what each step prints.
func (s *stack) walkReadme(ctx context.Context) error {
	readme, err := os.ReadFile(filepath.Join(s.root, "README.md"))
	if err != nil {
		return fmt.Errorf("read README: %w", err)
	}
	tour, err := readTour(string(readme))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(s.state, "tour-")
	if err != nil {
		return fmt.Errorf("make a directory for the tour: %w", err)
	}
	script := ". " + process.Quote(s.environmentFile()) + "\n"
	file := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	for i, c := range tour {
		// In braces and not in parentheses: a variable that one step sets is there in the next.
		script += fmt.Sprintf("{\n%s} >%s\n", c.script, process.Quote(file(i)))
	}
	if _, err := s.shell(ctx, "set -eu\n"+script); err != nil {
		return fmt.Errorf("the tour of README: %w", err)
	}
	outputs := map[string]string{}
	for i, c := range tour {
		output, err := os.ReadFile(file(i))
		if err != nil {
			return fmt.Errorf("read what the tour printed: %w", err)
		}
		check := tourChecks[c.title]
		if check == nil {
			return fmt.Errorf("README's tour has a step %q that nothing checks: add it to tourChecks", c.title)
		}
		if err := check(string(output), outputs); err != nil {
			return fmt.Errorf("README's tour, %q: %w\n%s\n%s", c.title, err, indent(c.script), indent(string(output)))
		}
		outputs[c.title] = string(output)
		s.say("ok: README, %s", c.title)
	}
	for title := range tourChecks {
		if !slices.ContainsFunc(tour, func(c chapter) bool { return c.title == title }) {
			return fmt.Errorf("README's tour lacks the step %q", title)
		}
	}
	c, err := s.caller(readWrite)
	if err != nil {
		return err
	}
	return eventually(ctx, 30*time.Second, func() error {
		left, err := c.items(ctx, "tags.marketer_tags.key:tour")
		if err == nil && left.Total > 0 {
			err = fmt.Errorf("after README's tour %d items are still found by its tag", left.Total)
		}
		return err
	})
}

func contains(output string, wanted ...string) error {
	for _, want := range wanted {
		if !strings.Contains(output, want) {
			return fmt.Errorf("the output lacks %q", want)
		}
	}
	return nil
}

// totalOf returns the total of the last line that is a JSON object.
func totalOf(output string) (int64, error) {
	for _, line := range slices.Backward(strings.Split(output, "\n")) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var page struct {
			Total *int64 `json:"total_results"`
		}
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			return 0, fmt.Errorf("read a page: %w", err)
		}
		if page.Total == nil {
			return 0, fmt.Errorf("no list: %.300s", line)
		}
		return *page.Total, nil
	}
	return 0, errors.New("there is no page in the output")
}
