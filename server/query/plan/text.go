package plan

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// String implements Leaf.
func (n Term) String() string { return n.Field.Name + ":" + quoted(n.Text) }

// String implements Leaf.
func (n Phrase) String() string {
	words := make([]string, len(n.Words))
	for i, w := range n.Words {
		words[i] = w.Text
	}
	s := n.Field.Name + ":" + strconv.Quote(strings.Join(words, " "))
	if n.Slop > 0 {
		s += "~" + strconv.Itoa(n.Slop)
	}
	return s
}

// String implements Leaf.
func (n Pattern) String() string { return n.Field.Name + ":" + n.Source }

// String implements Leaf.
func (n Fuzzy) String() string {
	return n.Field.Name + ":" + quoted(n.Text) + "~" + strconv.Itoa(n.Edits)
}

// String implements Leaf.
func (n IntRange) String() string {
	return rangeText(n.Field.Name, ValueText(n.Field, n.Lo), ValueText(n.Field, n.Hi))
}

// String implements Leaf.
func (n FloatRange) String() string {
	return rangeText(n.Field.Name, NumberText(n.Lo), NumberText(n.Hi))
}

// String implements Leaf.
func (n TermRange) String() string {
	lo, hi, open, end := "*", "*", "[", "]"
	if !n.LoOpen {
		lo = quoted(n.Lo)
		if !n.LoIncl {
			open = "{"
		}
	}
	if !n.HiOpen {
		hi = quoted(n.Hi)
		if !n.HiIncl {
			end = "}"
		}
	}
	return n.Field.Name + ":" + open + lo + " TO " + hi + end
}

// String implements Leaf.
func (n Exists) String() string { return "_exists_:" + n.Field.Name }

func rangeText(name, lo, hi string) string {
	if lo == hi {
		return name + ":" + lo
	}
	return name + ":[" + lo + " TO " + hi + "]"
}

// quoted returns a text in quotes if it would not be one word in a query.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\r\n\u3000+-!():^[]\"{}~*?\\/") {
		return strconv.Quote(s)
	}
	return s
}

// ValueText formats a whole number, a date or a boolean. The smallest and the largest int64 mean that a range has no bound on that side.
func ValueText(f query.Field, v int64) string {
	switch {
	case f.Type == query.Boolean:
		return strconv.FormatBool(v != 0)
	case v == math.MinInt64 || v == math.MaxInt64:
		return "*"
	case f.Type == query.Date:
		return time.UnixMilli(v).UTC().Format("2006-01-02T15:04:05.999Z")
	}
	return strconv.FormatInt(v, 10)
}

// NumberText formats a number. An infinite number means that a range has no bound on that side.
func NumberText(v float64) string {
	if math.IsInf(v, 0) {
		return "*"
	}
	return strconv.FormatFloat(v, 'g', -1, 32)
}
