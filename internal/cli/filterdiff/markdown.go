package filterdiff

import (
	"fmt"
	"io"
	"strings"

	"github.com/vitrine-dev/vitrine/internal/text"
)

// Maximum lengths of an item's text and of a query, in characters. They are short, because a comment on a pull request is limited to 64 Ki
// characters.
const (
	textLength  = 60
	queryLength = 1000
)

// Markdown writes changes for a pull request. For unchanged and suspended filters, it writes only their number.
func Markdown(w io.Writer, changes []Change) {
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
	fmt.Fprintf(w, "### Content filters: %s\n", strings.Join(parts, ", "))
	for _, c := range changes {
		if c.State != Unchanged && c.State != Suspended {
			c.markdown(w)
		}
	}
}

func (c Change) markdown(w io.Writer) {
	fmt.Fprintf(w, "\n#### %s (%s)\n\n", text.Visible(c.Filter), c.State)
	if c.Problem != "" {
		fmt.Fprintf(w, "The filter cannot be compared: %s\n", code(c.Problem))
		return
	}
	if c.Before == nil {
		fmt.Fprintf(w, "| items | %s |\n| --- | --- |\n| query | %s |\n| order | %s |\n", text.Thousands(c.After.Total), cell(c.After.Query), cell(c.After.Order))
		if c.After.FavoriteTag != "" {
			fmt.Fprintf(w, "| favorite tag | %s |\n", cell(c.After.FavoriteTag))
		}
	} else {
		fmt.Fprintf(w, "| | served | new |\n| --- | --- | --- |\n")
		fmt.Fprintf(w, "| items | %s | %s |\n", text.Thousands(c.Before.Total), text.Thousands(c.After.Total))
		fmt.Fprintf(w, "| query | %s | %s |\n", cell(c.Before.Query), cell(c.After.Query))
		fmt.Fprintf(w, "| order | %s | %s |\n", cell(c.Before.Order), cell(c.After.Order))
		if c.Before.FavoriteTag+c.After.FavoriteTag != "" {
			fmt.Fprintf(w, "| favorite tag | %s | %s |\n", cell(c.Before.FavoriteTag), cell(c.After.FavoriteTag))
		}
	}
	c.Enter.markdown(w, "enter")
	c.Leave.markdown(w, "leave")
	switch {
	case c.Before == nil:
	case c.Reordered:
		fmt.Fprintf(w, "\nThe order changes.\n")
	default:
		fmt.Fprintf(w, "\nThe order stays the same.\n")
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
