package query

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// period is the interval that a date text describes, such as a year, a day or a single instant, from its first to its last millisecond.
type period struct{ from, to int64 }

// errDate is the error for a text that is not a date. Errors with a more specific reason wrap it.
var errDate = errors.New("not a date")

// parsePeriod parses a date without date math: 2024, 2024-05, 2024-05-21, 2024-05-21T10 and so on, down to fractions of a second. A text
// with a time can have a zone (Z, +02, +0200, +02:00). The default is UTC. A number with more than four digits means milliseconds since
// 1970.
func parsePeriod(s string) (period, error) {
	if digits := strings.TrimPrefix(s, "-"); len(digits) > 4 && allDigits(digits) {
		ms, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return period{}, fmt.Errorf("%w: out of range", errDate)
		}
		return period{ms, ms}, nil
	}
	day, clock, hasClock := strings.Cut(s, "T")
	start, end, err := parseCalendar(day)
	switch {
	case err != nil:
		return period{}, err
	case len(day) < len("2024-05-21") && hasClock:
		return period{}, errDate
	case clock == "":
		return span(start, end), nil
	}
	return parseClock(start, clock)
}

// CalendarDate returns the first instant (UTC) of a year, a month or a day, written as 2024, 2024-05 or 2024-05-21. It returns false for
// any other text, and for a day that does not exist.
func CalendarDate(s string) (time.Time, bool) {
	if len(s) > len(time.DateOnly) { // most timestamps of items
		return time.Time{}, false
	}
	start, _, err := parseCalendar(s)
	return start, err == nil
}

// parseCalendar parses a year, a month or a day. It returns the first instant of that period and the first instant after it.
func parseCalendar(s string) (start, end time.Time, err error) {
	year, month, date, parts := 0, 1, 1, strings.Split(s, "-")
	for i, p := range parts {
		width, to := 2, &date
		switch i {
		case 0:
			width, to = 4, &year
		case 1:
			to = &month
		case 2:
		default:
			return start, end, errDate
		}
		if len(p) != width || !allDigits(p) {
			return start, end, errDate
		}
		*to, _ = strconv.Atoi(p)
	}
	start = time.Date(year, time.Month(month), date, 0, 0, 0, 0, time.UTC)
	if start.Year() != year || int(start.Month()) != month || start.Day() != date {
		return start, end, fmt.Errorf("%w: no such date", errDate)
	}
	switch len(parts) {
	case 1:
		return start, start.AddDate(1, 0, 0), nil
	case 2:
		return start, start.AddDate(0, 1, 0), nil
	default:
		return start, start.AddDate(0, 0, 1), nil
	}
}

// span returns the period from one instant to just before another.
func span(from, to time.Time) period { return period{from.UnixMilli(), to.UnixMilli() - 1} }

// parseClock parses the time of day, which is the text after the T.
func parseClock(day time.Time, s string) (period, error) {
	offset := time.Duration(0)
	if i := strings.IndexAny(s, "Z+-"); i >= 0 {
		var err error
		if offset, err = parseZone(s[i:]); err != nil {
			return period{}, err
		}
		s = s[:i]
	}
	s, fraction, hasFraction := strings.Cut(strings.Replace(s, ",", ".", 1), ".")
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	parts := strings.Split(s, ":")
	if len(parts) > len(units) || hasFraction && (len(parts) < len(units) || !allDigits(fraction) || len(fraction) > 9) {
		return period{}, errDate
	}
	at, unit := day, units[len(parts)-1]
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if len(p) != 2 || err != nil || !allDigits(p) || n > 59 || i == 0 && n > 23 {
			return period{}, errDate
		}
		at = at.Add(time.Duration(n) * units[i])
	}
	at = at.Add(-offset)
	if !hasFraction {
		return span(at, at.Add(unit)), nil
	}
	ms, _ := strconv.Atoi((fraction + "00")[:3])
	instant := at.UnixMilli() + int64(ms)
	return period{instant, instant}, nil
}

// parseZone parses Z, +02, +0200 or +02:00.
func parseZone(s string) (time.Duration, error) {
	if s == "Z" {
		return 0, nil
	}
	digits := s[1:]
	if len(s) == len("+02:00") && s[3] == ':' {
		digits = s[1:3] + s[4:]
	}
	if s[0] == 'Z' || !allDigits(digits) || len(digits) != 2 && len(digits) != 4 {
		return 0, errDate
	}
	hours, _ := strconv.Atoi(digits[:2])
	minutes := 0
	if len(digits) == 4 {
		minutes, _ = strconv.Atoi(digits[2:])
	}
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if offset > 18*time.Hour || minutes > 59 {
		return 0, errDate
	}
	if s[0] == '-' {
		offset = -offset
	}
	return offset, nil
}

// boundDate parses a date of a query, with or without date math, as an instant in milliseconds. For a partial or rounded date, it returns
// the first millisecond of the period or, if up is true, the last (see "Ranges and dates" in the documentation of the query language).
func boundDate(s string, now time.Time, up bool) (int64, error) {
	var t time.Time
	steps, ok := strings.CutPrefix(s, "now")
	if ok {
		t = now.UTC().Truncate(time.Millisecond)
	} else {
		var base string
		if base, steps, ok = strings.Cut(s, "||"); !ok {
			p, err := parsePeriod(s)
			if up {
				return p.to, err
			}
			return p.from, err
		}
		p, err := parsePeriod(base)
		if err != nil {
			return 0, err
		}
		t = time.UnixMilli(p.from).UTC()
	}
	for steps != "" {
		step, rest, err := nextStep(steps)
		if err != nil {
			return 0, err
		}
		if t, err = step.apply(t, up); err != nil {
			return 0, err
		}
		steps = rest
	}
	return t.UnixMilli(), nil
}

// step is one operation of date math. It adds n units or, if round is set, rounds to one unit.
type step struct {
	round bool
	n     int
	unit  byte
}

// nextStep parses the first operation in s, and returns it with the rest of s. An operation consists of +, - or /, an optional number
// (default 1), and a unit.
func nextStep(s string) (step, string, error) {
	var st step
	sign := 1
	switch s[0] {
	case '/':
		st.round = true
	case '+':
	case '-':
		sign = -1
	default:
		return st, "", fmt.Errorf("%w: date math begins with +, - or /, not %q", errDate, excerpt(s, 1))
	}
	i := 1
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	st.n = sign
	if i > 1 {
		n, err := strconv.ParseInt(s[1:i], 10, 32)
		if err != nil {
			return st, "", fmt.Errorf("%w: the number %s is too large for date math", errDate, excerpt(s[1:i], nearLength))
		}
		if st.n = sign * int(n); st.round && n != 1 {
			return st, "", fmt.Errorf("%w: the number after / must be 1", errDate)
		}
	}
	if i == len(s) {
		return st, "", fmt.Errorf("%w: date math ends without a unit (y M w d h H m s)", errDate)
	}
	st.unit = s[i]
	if !strings.ContainsRune("yMwdhHms", rune(st.unit)) {
		return st, "", fmt.Errorf("%w: date math has the units y M w d h H m s, not %q", errDate, excerpt(s[i:], 1))
	}
	return st, s[i+1:], nil
}

// maxYear is the highest year in a date. It ensures that dates in milliseconds fit into 64 bits.
const maxYear = 200_000_000

func (st step) apply(t time.Time, up bool) (time.Time, error) {
	if st.round {
		t = floor(t, st.unit)
		if up {
			t = add(t, 1, st.unit).Add(-time.Millisecond)
		}
	} else {
		if st.unit == 'y' && math.Abs(float64(t.Year()+st.n)) > maxYear {
			return t, fmt.Errorf("%w: out of range", errDate)
		}
		t = add(t, st.n, st.unit)
	}
	if y := t.Year(); y > maxYear || y < -maxYear {
		return t, fmt.Errorf("%w: out of range", errDate)
	}
	return t, nil
}

// add adds n units to t. If the resulting month does not have the day of t, add returns the last day of that month.
func add(t time.Time, n int, unit byte) time.Time {
	seconds := func(size int64) time.Time {
		return time.Unix(t.Unix()+int64(n)*size, int64(t.Nanosecond())).UTC()
	}
	switch unit {
	case 'y', 'M':
		months := n
		if unit == 'y' {
			months *= 12
		}
		first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
		last := first.AddDate(0, 1, -1).Day()
		return first.AddDate(0, 0, min(t.Day(), last)-1)
	case 'w':
		return seconds(7 * 86400)
	case 'd':
		return seconds(86400)
	case 'h', 'H':
		return seconds(3600)
	case 'm':
		return seconds(60)
	default:
		return seconds(1)
	}
}

// floor returns the first instant of the year, month and so on that contains t. Weeks begin on Monday.
func floor(t time.Time, unit byte) time.Time {
	y, m, d := t.Date()
	switch unit {
	case 'y':
		return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)
	case 'M':
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	case 'w':
		return time.Date(y, m, d-(int(t.Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
	case 'd':
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	case 'h', 'H':
		return time.Date(y, m, d, t.Hour(), 0, 0, 0, time.UTC)
	case 'm':
		return time.Date(y, m, d, t.Hour(), t.Minute(), 0, 0, time.UTC)
	default:
		return time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	}
}
