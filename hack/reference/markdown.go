package reference

import (
	"fmt"
	"regexp"
	"strings"
)

// page collects the text of a page.
type page struct{ strings.Builder }

// newPage returns a page with a title, the source of its facts, and an introduction.
func newPage(title, source, introduction string) *page {
	p := &page{}
	p.line("<!-- make generate wrote this page from %s. -->", source)
	p.line("# %s\n\n%s", title, introduction)
	return p
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.Builder, format+"\n", args...) }

// table writes a table, unless it has no rows.
func (p *page) table(heading []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.line("\n| %s |\n|%s", strings.Join(heading, " | "), strings.Repeat(" --- |", len(heading)))
	for _, cells := range rows {
		p.line("| %s |", strings.Join(cells, " | "))
	}
}

var (
	breaks = regexp.MustCompile(`\s+`)
	// special matches text in code style, and characters that have a special meaning in Markdown or in a table cell. An underscore inside a
	// word has no special meaning.
	special = regexp.MustCompile("`[^`]*`|" + `[|<>*\[\]]|\b_\B|\B_\b`)
	// unlinked matches characters of a heading that are not part of its fragment.
	unlinked = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// prose returns text for a table cell or a paragraph, on one line and without Markdown except for code style.
func prose(text string) string {
	return special.ReplaceAllStringFunc(strings.TrimSpace(breaks.ReplaceAllString(text, " ")), func(found string) string {
		if strings.HasPrefix(found, "`") {
			return strings.ReplaceAll(found, "|", `\|`)
		}
		return `\` + found
	})
}

// code returns text in code style for a table cell, or "" if text is empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(text, "|", `\|`)
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

// anchor returns the fragment that GitHub and the site of the documentation give a heading.
func anchor(heading string) string {
	return strings.Trim(strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(heading), ""), " ", "-"), "-")
}
