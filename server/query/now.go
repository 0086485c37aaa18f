package query

import "strings"

// UsesNow reports whether n compares a date field with now, so that its result depends on the time of the read.
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
