package query

import "strings"

// UsesNow reports whether the answer to n depends on the instant at which it is read: whether a date field is compared
// with date math on now.
func UsesNow(n Node) bool {
	return !Walk(n, func(n Node) bool {
		switch n.(type) {
		case Term, Phrase, Range:
			r := asRange(n)
			now := strings.HasPrefix(r.From.Text, "now") || strings.HasPrefix(r.To.Text, "now")
			return !now || !namesDate(r.Field)
		}
		return true
	})
}
