package query

import "strings"

// UsesNow reports whether n compares a date field with now, so that its result depends on the time of the read.
func UsesNow(n Node) bool {
	return !Walk(n, func(n Node) bool {
		r, ok := asRange(n)
		now := strings.HasPrefix(r.From.Text, "now") || strings.HasPrefix(r.To.Text, "now")
		return !ok || !now || !namesDate(r.Field)
	})
}
