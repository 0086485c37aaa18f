package report

import "fmt"

// Range is where a number of a run may lie. It is wider than what was ever measured and narrower than what would go
// unnoticed: leaving it means that something changed, for better or worse.
type Range struct {
	// Bar is the ID of the bar whose number it is.
	Bar         string
	Least, Most float64
}

// ranges are those of the quick run on two cores. Behind each stands the mean of what was measured and the margin to the
// limit.
var ranges = []Range{}

// OutOfRange says in a line each which numbers of a run have left their range. Numbers that were not measured are left
// out, and so are runs of a size that has no ranges.
func OutOfRange(r *Run) []string {
	if r.Scale != Quick {
		return []string{fmt.Sprintf("there are no ranges for a run of %d items", r.Items)}
	}
	return outOf(ranges, r)
}

func outOf(ranges []Range, r *Run) []string {
	var left []string
	for _, limit := range ranges {
		for _, b := range Bars {
			if b.ID != limit.Bar {
				continue
			}
			m := b.Measure(r)
			if m.Known && (m.Value < limit.Least || m.Value > limit.Most) {
				left = append(left, fmt.Sprintf("%s: %s is outside %s to %s (%s)", b.ID, b.Show(m.Value), b.Show(limit.Least), b.Show(limit.Most), b.What))
			}
		}
	}
	return left
}
