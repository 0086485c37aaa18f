package query

import (
	"strings"
	"time"
)

// dateTexts calls visit with every date text of n that begins with now, on a date field or a pattern that covers one, and
// with which end of a period it stands for (as in boundDate; a single value stands for both).
func dateTexts(n Node, visit func(text string, up bool)) {
	Walk(n, func(n Node) bool {
		r, ok := n.(Range)
		if !ok {
			switch n.(type) {
			case Term, Phrase:
				r = asRange(n)
			default:
				return true
			}
		}
		from, to := strings.HasPrefix(r.From.Text, "now"), strings.HasPrefix(r.To.Text, "now")
		if !from && !to || !namesDate(r.Field) {
			return true
		}
		if from {
			visit(r.From.Text, !r.From.Inclusive)
		}
		if to {
			visit(r.To.Text, r.To.Inclusive)
		}
		return true
	})
}

// UsesNow reports whether the answer to n depends on the instant at which it is read: whether a date field is compared
// with date math on now.
func UsesNow(n Node) bool {
	found := false
	dateTexts(n, func(string, bool) { found = true })
	return found
}

// Until returns the first instant after now at which n means something else, in whole milliseconds: until then its
// answer cannot change by time alone. now/d holds until midnight; now-30d, which nothing rounds, for one millisecond.
// The zero time comes back for a query that does not use now.
func Until(n Node, now time.Time) time.Time {
	now = now.UTC().Truncate(time.Millisecond)
	var until time.Time
	dateTexts(n, func(text string, up bool) {
		if next, ok := nextChange(text, now, up); ok && (until.IsZero() || next.Before(until)) {
			until = next
		}
	})
	return until
}

// nextChange finds the first instant after now at which the date text has another value. What a text means never goes
// back as time goes on, so that halving finds it.
func nextChange(text string, now time.Time, up bool) (time.Time, bool) {
	value, err := boundDate(text, now, up)
	if err != nil {
		return time.Time{}, false
	}
	changed := func(ms int64) bool {
		v, err := boundDate(text, now.Add(time.Duration(ms)*time.Millisecond), up)
		return err != nil || v != value
	}
	// The longest unit that anything is rounded to is a year.
	const longest = 366 * 24 * int64(time.Hour/time.Millisecond)
	same, other := int64(0), int64(1)
	for !changed(other) {
		if same, other = other, other*2; same > longest {
			return time.Time{}, false
		}
	}
	for other-same > 1 {
		if middle := same + (other-same)/2; changed(middle) {
			other = middle
		} else {
			same = middle
		}
	}
	return now.Add(time.Duration(other) * time.Millisecond), true
}
