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
	{"hot-cpu", 0.9, 1.9},         // 1.42, 25 % below the limit
	{"hot-rate", 0.5, 1.2},        // 0.73, 46 % above
	{"zipf-rate", 0.38, 1.2},      // 0.51, 34 % above
	{"zipf-p99", 0.2, 4},          // 1.64; one request in a hundred of 1,500 is far from stable
	{"uniform-rate", 0.36, 1.2},   // 0.52, 44 % above
	{"uniform-p99", 0.2, 4},       // 1.33; as above
	{"last-page", 0.7, 1.4},       // 1.02, 46 % above
	{"boolean", 12, 60},           // 20, 67 % above; OpenSearch's own median differs by half between runs
	{"ranked", 3.5, 20},           // 6.6, 89 % above
	{"ranked-each", 1, 20},        // 3.3, 3 × above
	{"import", 1.6, 6},            // 2.9, 81 % above; the noisiest, as both cores are full
	{"import-bleve", 8, 30},       // 15.9, 2 × above
	{"standing-import", 0.7, 1.3}, // 0.99, 41 % above
	{"standing-first", 0.1, 10},   // 1.8 ms, 5 × below
	{"standing-match", 80, 700},   // 189, 2.4 × above
	{"posts", 0.3, 0.95},          // 0.56, 87 % above
	{"restart", 0.01, 1},          // 0.10 s, 90 % below
	{"heap", 30, 360},             // 186 MiB with a collector that began at 192; it begins at 320 now
	{"index", 300, 500},           // 446 bytes, 11 % below; it does not depend on the machine
	{"growth-page", 0.5, 1.5},     // 1.05, 30 % below
	{"growth-random", 0.5, 1.5},   // 0.98, 35 % below
	{"growth-heap", 0.2, 2.2},     // 1.35, 39 % below
	{"growth-import", 0.6, 1.7},   // 0.91, 52 % above
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
