package report

import "fmt"

// Range is where a number of a run may lie. It is wider than what was ever measured and narrower than what would go
// unnoticed: leaving it means that something changed, for better or worse.
type Range struct {
	// Bar is the ID of the bar whose number it is.
	Bar         string
	Least, Most float64
}

// ranges are those of the quick run on two cores. Behind each stands the mean of what was measured, in two runs beside other
// work on the same machine, and the margin to the nearer limit that would be for the worse.
var ranges = []Range{
	{"hot-cpu", 0.9, 2.1},          // mean 1.61, 30 % below the limit
	{"hot-rate", 0.5, 1.2},         // mean 0.72, 44 % above
	{"zipf-rate", 0.38, 1.2},       // mean 0.56, 47 % above
	{"zipf-p99", 0.2, 4},           // mean 1.75; one request in a hundred of 1,500 is far from stable
	{"uniform-rate", 0.36, 1.2},    // mean 0.54, 50 % above
	{"uniform-p99", 0.2, 4},        // mean 1.37; as above
	{"last-page", 0.7, 1.4},        // mean 0.97, 39 % above
	{"boolean", 8, 60},             // mean 16.2, 2 × above; OpenSearch's own median differs by half between runs
	{"ranked", 3.5, 20},            // mean 6.4, 84 % above
	{"ranked-each", 1, 20},         // mean 3.2, 3 × above
	{"import", 0.9, 4},             // mean 1.5, 67 % above; the noisiest, as both cores are full
	{"import-bleve", 5, 25},        // mean 9.9, 2 × above
	{"standing-import", 0.65, 1.3}, // mean 0.86, 32 % above
	{"standing-first", 0.1, 25},    // mean 7.6 ms, 70 % below
	{"standing-match", 60, 600},    // mean 156, 2.6 × above
	{"posts", 0.2, 0.9},            // 0.35 since one item is found by its id at once, 75 % above
	{"restart", 0.01, 1},           // mean 0.08 s, 92 % below
	{"heap", 30, 220},              // mean 109 MiB, 50 % below
	{"index", 300, 500},            // mean 446 bytes, 11 % below; it does not depend on the machine
	{"growth-page", 0.5, 1.5},      // mean 1.03, 31 % below
	{"growth-random", 0.5, 1.5},    // mean 1.01, 33 % below
	{"growth-heap", 0.2, 2},        // mean 0.83, 58 % below
	{"growth-import", 0.6, 1.7},    // mean 1.01, 68 % above
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
