package contentdiff

import (
	"fmt"
	"io"
	"strings"

	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Maximum lengths of an item's text and of a query, in characters. They are short, because a comment on a pull request is limited to 64 Ki
// characters.
const (
	textLength  = 60
	queryLength = 1000
)

// Markdown writes changes for a pull request. For unchanged and suspended objects, it writes only their number.
func Markdown(w io.Writer, changes []Change) {
	var filters, scopes []Change
	for _, c := range changes {
		if c.isFilter() {
			filters = append(filters, c)
		} else {
			scopes = append(scopes, c)
		}
	}
	if len(scopes) == 0 {
		section(w, "Content filters", filters)
		return
	}
	if len(filters) > 0 {
		section(w, "Content filters", filters)
		fmt.Fprintln(w)
	}
	section(w, "Scopes of tokens", scopes)
}

// section writes the changes of one part of the report.
func section(w io.Writer, title string, changes []Change) {
	states := map[string]int64{}
	for _, c := range changes {
		states[c.State]++
	}
	var parts []string
	for _, s := range []string{Changed, New, Failed, Suspended, Unchanged} {
		if n := states[s]; n > 0 || s == Unchanged {
			parts = append(parts, text.Thousands(n)+" "+s)
		}
	}
	fmt.Fprintf(w, "### %s: %s\n", title, strings.Join(parts, ", "))
	for _, c := range changes {
		if c.State != Unchanged && c.State != Suspended {
			c.markdown(w)
		}
	}
}

func (c Change) isFilter() bool { return c.Kind == library.KindFilter.String() }

func (c Change) markdown(w io.Writer) {
	name := text.Visible(c.Name)
	if !c.isFilter() {
		name = c.Kind + " " + name
	}
	fmt.Fprintf(w, "\n#### %s (%s)\n\n", name, c.State)
	if c.Problem != "" {
		fmt.Fprintf(w, "The comparison failed: %s\n", code(c.Problem))
		return
	}
	if c.Before == nil {
		fmt.Fprintf(w, "| items | %s |\n| --- | --- |\n| query | %s |\n", text.Thousands(c.After.Total), cell(c.After.Query))
		if c.isFilter() {
			fmt.Fprintf(w, "| order | %s |\n", cell(c.After.Order))
		}
		if c.After.FavoriteTag != "" {
			fmt.Fprintf(w, "| favorite tag | %s |\n", cell(c.After.FavoriteTag))
		}
	} else {
		fmt.Fprintf(w, "| | served | new |\n| --- | --- | --- |\n")
		fmt.Fprintf(w, "| items | %s | %s |\n", text.Thousands(c.Before.Total), text.Thousands(c.After.Total))
		fmt.Fprintf(w, "| query | %s | %s |\n", cell(c.Before.Query), cell(c.After.Query))
		if c.isFilter() {
			fmt.Fprintf(w, "| order | %s | %s |\n", cell(c.Before.Order), cell(c.After.Order))
		}
		if c.Before.FavoriteTag+c.After.FavoriteTag != "" {
			fmt.Fprintf(w, "| favorite tag | %s | %s |\n", cell(c.Before.FavoriteTag), cell(c.After.FavoriteTag))
		}
	}
	c.Enter.markdown(w, "enter")
	c.Leave.markdown(w, "leave")
	switch {
	case c.Before == nil || !c.isFilter():
	case c.Reordered:
		fmt.Fprintf(w, "\nThe order changes.\n")
	default:
		fmt.Fprintf(w, "\nThe order stays the same.\n")
	}
	if c.Link != "" {
		fmt.Fprintf(w, "\n[See the items in the console](%s)\n", c.Link)
	}
}

func (i Items) markdown(w io.Writer, verb string) {
	if i.Total == 1 {
		verb += "s"
	}
	if i.Total == 0 {
		fmt.Fprintf(w, "\nNone %ss.\n", verb)
		return
	}
	fmt.Fprintf(w, "\n**%s %s**:\n\n", text.Thousands(i.Total), verb)
	for _, it := range i.First {
		fmt.Fprintf(w, "- %d, %s, %s", it.ID, text.Visible(it.ContentType), text.Visible(it.CreatedOn))
		if said := excerpt(it.Text, textLength); said != "" {
			fmt.Fprintf(w, ": %s", code(said))
		}
		fmt.Fprintln(w)
	}
	if rest := i.Total - int64(len(i.First)); rest > 0 {
		fmt.Fprintf(w, "- and %s more\n", text.Thousands(rest))
	}
}

// excerpt returns the beginning of a text in one line.
func excerpt(s string, n int) string { return text.Cut(strings.Join(strings.Fields(s), " "), n) }

// code formats text as inline code, so that it contains no markup, links, mentions or control characters.
func code(s string) string {
	s = text.Line(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// cell formats text as code for a cell of a table. It escapes bars, which would end the cell. If the text is empty, the cell is empty.
func cell(s string) string {
	if s == "" {
		return ""
	}
	return strings.ReplaceAll(code(excerpt(s, queryLength)), "|", `\|`)
}
