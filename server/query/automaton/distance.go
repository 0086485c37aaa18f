package automaton

import "unicode/utf8"

// Distance returns the number of edits between two terms, or limit+1 if there are more than limit. An edit inserts, deletes or
// replaces one character (Unicode code point), or transposes two adjacent characters that no other edit touches, as in Lucene.
func Distance(a, b string, limit int) int {
	if a == b {
		return 0
	}
	// If the lengths in characters differ by more than the limit, the distance exceeds the limit. Check this first with the lengths in bytes,
	// which are known without decoding.
	if d := len(a) - len(b); d > limit*utf8.UTFMax || -d > limit*utf8.UTFMax {
		return limit + 1
	}
	var bufA, bufB [64]rune
	return distance(appendRunes(bufA[:0], a), appendRunes(bufB[:0], b), limit)
}

func appendRunes(dst []rune, s string) []rune {
	for _, r := range s {
		dst = append(dst, r)
	}
	return dst
}

// distance computes the distance by optimal string alignment. It keeps three rows of the table, and computes only the band of cells that
// the limit allows.
func distance(a, b []rune, limit int) int {
	over := limit + 1
	if d := len(a) - len(b); d > limit || -d > limit {
		return over
	}
	var buf [3][66]int
	rows := [3][]int{}
	for i := range rows {
		if len(b)+1 <= len(buf[i]) {
			rows[i] = buf[i][:len(b)+1]
		} else {
			rows[i] = make([]int, len(b)+1)
		}
	}
	before, last, row := rows[0], rows[1], rows[2]
	for j := range last {
		last[j] = min(j, over)
	}
	lastBest := 0
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-limit), min(len(b), i+limit)
		row[0] = min(i, over)
		if from > 1 {
			row[from-1] = over
		}
		best := row[0]
		for j := from; j <= to; j++ {
			d := last[j-1]
			if a[i-1] != b[j-1] {
				up := over
				if j < i+limit {
					up = last[j]
				}
				d = 1 + min(d, up, row[j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d = min(d, before[j-2]+1)
				}
			}
			row[j] = min(d, over)
			best = min(best, row[j])
		}
		// All later rows derive from this row and, through transpositions, from the previous row, so no later cell can be within the limit.
		if best >= over && lastBest >= over {
			return over
		}
		before, last, row, lastBest = last, row, before, best
	}
	return min(last[len(b)], over)
}
