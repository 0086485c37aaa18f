package query

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Span returns the closed interval of values that a Term, Phrase or Range on a Long, Date or Boolean field covers. lo > hi means that the
// interval is empty. The parameter now is the value of now in date math. The error is a *SyntaxError.
func Span(n Node, f Field, now time.Time) (lo, hi int64, err error) {
	r, _ := asRange(n)
	lo, none, err := edge(f, r.From, true, now)
	if err != nil || none {
		return 1, 0, err
	}
	if hi, none, err = edge(f, r.To, false, now); err != nil || none {
		return 1, 0, err
	}
	if f.Type == Boolean {
		lo, hi = max(lo, 0), min(hi, 1)
	}
	return lo, hi, nil
}

// FloatSpan is like Span, but for a Double field. Open ends are infinities.
func FloatSpan(n Node, f Field) (lo, hi float64, err error) {
	r, _ := asRange(n)
	lo, hi = math.Inf(-1), math.Inf(1)
	if !r.From.Open {
		if lo, err = parseDouble(r.From.Text); err != nil {
			return 0, 0, misfit(r.From, f, err)
		}
		if !r.From.Inclusive {
			lo = math.Nextafter(lo, math.Inf(1))
		}
	}
	if !r.To.Open {
		if hi, err = parseDouble(r.To.Text); err != nil {
			return 0, 0, misfit(r.To, f, err)
		}
		if !r.To.Inclusive {
			hi = math.Nextafter(hi, math.Inf(-1))
		}
	}
	return lo, hi, nil
}

// asRange returns the range that means the same as n on a field of numbers, dates or booleans. ok is false if n does not mean a range.
func asRange(n Node) (r Range, ok bool) {
	if l, is := n.(leaf); is {
		return l.interval()
	}
	return Range{}, false
}

// edge returns the outermost value that the bound b allows: the lowest value for a lower bound, or the highest value for an upper bound.
// none is true if there is no such value. The error is a *SyntaxError.
func edge(f Field, b Bound, lower bool, now time.Time) (v int64, none bool, err error) {
	inwards, first, last := int64(1), int64(math.MinInt64), int64(math.MaxInt64)
	if !lower {
		inwards, first, last = -1, last, first
	}
	if b.Open {
		return first, false, nil
	}
	within := b.Inclusive
	switch f.Type {
	case Date:
		v, err = boundDate(b.Text, now, lower != b.Inclusive)
	case Boolean:
		v, err = parseBoolean(b.Text)
	case Long, Double, Keyword, Text:
		var w whole
		w, err = parseWhole(b.Text)
		v = w.n
		if w.cut { // with either bracket, a lower bound of 5.5 means 6, and a lower bound of -5.5 means -5
			within = w.negative == lower
		}
	}
	switch {
	case err != nil:
		return 0, false, misfit(b, f, err)
	case within:
		return v, false, nil
	}
	return v + inwards, v == last, nil
}

// misfit returns the error about a value that is not valid for the type of its field.
func misfit(b Bound, f Field, err error) *SyntaxError {
	reason := fmt.Sprintf("bad %s for field %q", typeNoun(f.Type), f.Name)
	expected := ""
	switch f.Type {
	case Long:
		expected = "a whole number"
	case Double:
		expected = "a number"
	case Boolean:
		expected = "true or false"
	case Date:
		expected = `a date such as 2026-11-20, 2026-11 or "2026-11-20T10:00:00Z", or date math such as now-30d`
	case Keyword, Text: // accept every value
	}
	switch {
	case errors.Is(err, errRange):
		reason += " (out of range)"
	case errors.Is(err, errDate):
		if detail, ok := strings.CutPrefix(err.Error(), errDate.Error()+": "); ok {
			reason += " (" + detail + ")"
		}
	}
	return b.at.errorAt(b.Text, reason, expected)
}

// typeNoun returns the noun for a value of a type, for messages.
func typeNoun(t Type) string {
	switch t {
	case Long, Double:
		return "number"
	case Boolean:
		return "boolean"
	case Date:
		return "date"
	case Keyword, Text:
	}
	return t.String()
}
