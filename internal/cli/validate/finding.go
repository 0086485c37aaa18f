package validate

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
	"github.com/vitrine-dev/vitrine/internal/text"
)

// Severity is the severity of a finding.
type Severity string

const (
	// Error means that the API server would reject the object, or that the server would not serve it.
	Error Severity = "error"
	// Warning means that the server would serve the object, but that the object probably contains a mistake.
	Warning Severity = "warning"
)

// Finding is an error or a warning about a manifest.
type Finding struct {
	Severity Severity `json:"severity"`
	// Rule is a stable identifier. docs/cli.md lists all rules.
	Rule string `json:"rule"`
	File string `json:"file"`
	// Line and Column start at 1. Columns are counted in characters, not in bytes.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Object is the object, or the zero value for a file that could not be read.
	Object Ref `json:"object,omitzero"`
	// Member is a path such as spec.query, or "" for the object as a whole.
	Member  string `json:"member,omitempty"`
	Message string `json:"message"`

	text string // text of the line
}

// Ref names an object.
type Ref struct{ Kind, Namespace, Name string }

// String returns the kind and the name, such as "ContentFilter shop/summer", or "" for the zero value.
func (r Ref) String() string {
	if r == (Ref{}) {
		return ""
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// MarshalText implements encoding.TextMarshaler.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func at(p manifest.Place, f Finding) Finding {
	f.File, f.Line, f.Column, f.text = p.File, p.Line, p.Column, p.Text
	return f
}

// subject returns the object, the member and the message in one line.
func (f Finding) subject() string {
	var parts []string
	for _, p := range []string{f.Object.String(), f.Member, f.Message} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

// Text writes the findings for users. For each finding, it writes the place, the object and the message, and then the source line with a
// caret below the place.
func Text(w io.Writer, findings []Finding) {
	for _, f := range findings {
		fmt.Fprintf(w, "%s:%d:%d: %s: %s\n", text.Visible(f.File), f.Line, f.Column, f.Severity, text.Visible(f.subject()))
		if strings.TrimSpace(f.text) == "" {
			continue
		}
		number := fmt.Sprintf("%5d", f.Line)
		line, caret := window(f.text, f.Column)
		fmt.Fprintf(w, "%s | %s\n%s | %s^\n", number, line, strings.Repeat(" ", len(number)), caret)
	}
}

// before and behind are the numbers of characters of a long line that window keeps before and after the column.
const before, behind = 80, 40

// window returns the part of a line around a column, and the blanks that align a caret with the column on a terminal.
func window(source string, column int) (line, blanks string) {
	runes := []rune(source)
	column = min(max(column, 1), len(runes)+1)
	from, to := 0, len(runes)
	head, tail := "", ""
	if column > before {
		from, head = column-before, "…"
	}
	if to > column+behind {
		to, tail = column+behind, "…"
	}
	var b strings.Builder
	for _, r := range head + string(runes[from:column-1]) {
		switch {
		case r == '\t':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r):
		case wide(r):
			b.WriteString("  ")
		default:
			b.WriteByte(' ')
		}
	}
	return head + string(runes[from:to]) + tail, b.String()
}

// wide reports whether r takes up two columns on a terminal.
func wide(r rune) bool {
	k := width.LookupRune(r).Kind()
	return k == width.EastAsianWide || k == width.EastAsianFullwidth
}

// JSON writes the report as JSON.
func JSON(w io.Writer, r Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// GitHub writes the findings as workflow commands, which GitHub shows next to the lines of a pull request.
func GitHub(w io.Writer, findings []Finding) {
	// The properties and the message of a workflow command have different escapes.
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range findings {
		fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", f.Severity, property.Replace(f.File), f.Line, f.Column,
			property.Replace("vitrine "+f.Rule), message.Replace(f.subject()))
	}
}
