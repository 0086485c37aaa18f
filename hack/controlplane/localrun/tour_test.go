package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// chapter is a part of the tour in README: its title and its commands.
type chapter struct{ title, script string }

// readTour reads the tour from README: below the heading `## Five minutes`, each paragraph that begins with bold text is a chapter.
// Its commands follow, indented by four spaces. Text before the first chapter is ignored.
func readTour(readme string) []chapter {
	_, rest, _ := strings.Cut(readme, "\n## Five minutes\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	var tour []chapter
	for line := range strings.Lines(section) {
		if bold, ok := strings.CutPrefix(line, "**"); ok {
			title, _, _ := strings.Cut(bold, ".**")
			tour = append(tour, chapter{title: title})
		} else if command, ok := strings.CutPrefix(line, "    "); ok && len(tour) > 0 {
			tour[len(tour)-1].script += command
		}
	}
	return tour
}

// totalOf returns the total of the last line that is a JSON object, which must be a list.
func totalOf(output string) int64 {
	GinkgoHelper()
	var page struct {
		Total *int64 `json:"total_results"`
	}
	for _, line := range slices.Backward(strings.Split(output, "\n")) {
		if strings.HasPrefix(line, "{") {
			Expect(json.Unmarshal([]byte(line), &page)).To(Succeed())
			break
		}
	}
	Expect(page.Total).NotTo(BeNil(), "the output ends with no list:\n%s", output)
	return *page.Total
}

func TestReadTour(t *testing.T) {
	g := NewWithT(t)
	const readme = "# X\n\n## Five minutes\n\nFirst:\n\n    . env\n\n**Do this.** It helps.\n\n    one <<'E'\n    two: {a: b}\n      three\n    E\n\n" +
		"**Do that.** Also.\n\n    four\n\n## More\n\n    five\n"
	g.Expect(readTour(readme)).To(Equal([]chapter{{"Do this", "one <<'E'\ntwo: {a: b}\n  three\nE\n"}, {"Do that", "four\n"}}))
	g.Expect(readTour("# X\n")).To(BeEmpty())
}
