package report

import "fmt"

// Range is where a number of a run may lie. It is wider than what was ever measured and narrower than what would go
// unnoticed: leaving it means that something changed, for better or worse.
type Range struct {
	// Bar is the ID of the bar whose number it is.
	Bar         string
	Least, Most float64
}

// ranges are those of the quick run on two cores. Behind each stands what was measured last, on a machine with nothing else
// to do, and the margin to the nearer limit that would be for the worse.
var ranges = []Range{
	{"hot-cpu", 0.9, 1.9},         // 1.36, 28 % below the limit
	{"hot-rate", 0.5, 1.2},        // 0.80, 60 % above
	{"zipf-rate", 0.38, 1.2},      // 0.57, 50 % above
	{"zipf-p99", 0.2, 4},          // 1.17; one request in a hundred of 4,500 is far from stable
	{"uniform-rate", 0.36, 1.2},   // 0.51, 42 % above
	{"uniform-p99", 0.2, 4},       // 1.39; as above, of 1,500
	{"last-page", 0.7, 1.4},       // 0.95, 36 % above
	{"boolean", 12, 60},           // 19, 58 % above; OpenSearch's own median differs by half between runs
	{"ranked", 4.5, 20},           // 7.0, 56 % above
	{"ranked-each", 1.5, 20},      // 3.7, 2.5 × above
	{"import", 1.6, 6},            // 2.6, 62 % above; the noisiest, as both cores are full
	{"import-bleve", 8, 30},       // 17, 2.1 × above
	{"standing-import", 0.7, 1.3}, // 1.00, 43 % above
	{"standing-first", 0.1, 10},   // 1.1 ms, 9 × below
	{"standing-match", 80, 700},   // 217, 2.7 × above
	{"posts", 0.3, 0.95},          // 0.54, 80 % above
	{"restart", 0.01, 1},          // 0.08 s, 92 % below
	{"heap", 30, 400},             // 311 MiB, 22 % below; it rises and falls with the collector, which begins at 320
	{"index", 300, 500},           // 446 bytes, 11 % below; it does not depend on the machine
	{"growth-page", 0.5, 1.5},     // 1.04, 31 % below
	{"growth-random", 0.5, 1.5},   // 1.08, 28 % below
	{"growth-heap", 0.2, 2.6},     // 1.87, 28 % below; as the heap
	{"growth-import", 0.6, 1.7},   // 1.03, 72 % above
}

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
