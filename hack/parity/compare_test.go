package parity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// nearlyEqual is the relative difference up to which two scores of OpenSearch count as equal. Scores are not exact, because OpenSearch adds
// float32 values in an order that depends on its segments.
const nearlyEqual = 1e-5

// hit is one item of a result.
type hit struct {
	id    int64
	score float64
}

// compare compares our result with the result of the oracle. It returns the first difference as one sentence, or "". If all scores of the
// oracle are equal, the order must be identical, because the tie rule determines it. Otherwise, adjacent items whose scores are nearly
// equal (see nearlyEqual) may be in any order.
func compare(ours, theirs []hit) string {
	if len(ours) != len(theirs) {
		return fmt.Sprintf("%d items here, %d in OpenSearch%s", len(ours), len(theirs), alone(ours, theirs))
	}
	if len(theirs) == 0 {
		return ""
	}
	flat := !slices.ContainsFunc(theirs, func(h hit) bool { return h.score != theirs[0].score })
	for start := 0; start < len(theirs); {
		end := start + 1
		for end < len(theirs) && !flat && near(theirs[end-1].score, theirs[end].score) {
			end++
		}
		run := map[int64]bool{}
		for _, h := range theirs[start:end] {
			run[h.id] = true
		}
		for i := start; i < end; i++ {
			if !run[ours[i].id] {
				return fmt.Sprintf("place %d has item %d (%g) here and %d (%g) in OpenSearch%s",
					i, ours[i].id, ours[i].score, theirs[i].id, theirs[i].score, alone(ours, theirs))
			}
		}
		start = end
	}
	return ""
}

func near(a, b float64) bool {
	return max(a, b)-min(a, b) <= nearlyEqual*max(a, b)
}

// alone returns the end of a message that names an item that only one of the two results contains, or "" if both contain the same items.
func alone(ours, theirs []hit) string {
	if h, ok := lacks(theirs, ours); ok {
		return fmt.Sprintf("; only here: %d", h.id)
	}
	if h, ok := lacks(ours, theirs); ok {
		return fmt.Sprintf("; only there: %d", h.id)
	}
	return ""
}

// lacks returns the first hit of others that answer does not contain.
func lacks(answer, others []hit) (hit, bool) {
	in := map[int64]bool{}
	for _, h := range answer {
		in[h.id] = true
	}
	for _, h := range others {
		if !in[h.id] {
			return h, true
		}
	}
	return hit{}, false
}

// sameItems reports whether two results differ at most in their order.
func sameItems(ours, theirs []hit) bool { return len(ours) == len(theirs) && alone(ours, theirs) == "" }

// firstOdd returns the item whose explanation can best show why the results differ: an item that only one side has, otherwise the item at
// the first position that differs, otherwise the first item. It returns false if both results are empty.
func firstOdd(ours, theirs []hit) (int64, bool) {
	if h, ok := lacks(theirs, ours); ok {
		return h.id, true
	}
	if h, ok := lacks(ours, theirs); ok {
		return h.id, true
	}
	for i, h := range ours {
		if h.id != theirs[i].id {
			return h.id, true
		}
	}
	if len(ours) > 0 {
		return ours[0].id, true
	}
	return 0, false
}

func TestCompare(t *testing.T) {
	tests := map[string]struct {
		ours, theirs []hit
		want         string // part of the message; "" for none
	}{
		"nothing":               {},
		"same":                  {ours: []hit{{1, 2}, {2, 1}}, theirs: []hit{{1, 2}, {2, 1}}},
		"ours has more":         {ours: []hit{{1, 2}, {2, 1}}, theirs: []hit{{1, 2}}, want: "2 items here, 1 in OpenSearch; only here: 2"},
		"theirs has more":       {ours: []hit{{1, 2}}, theirs: []hit{{1, 2}, {2, 1}}, want: "only there: 2"},
		"another item":          {ours: []hit{{1, 2}, {3, 1}}, theirs: []hit{{1, 2}, {2, 1}}, want: "place 1 has item 3 (1) here and 2 (1) in OpenSearch; only here: 3"},
		"far apart, swapped":    {ours: []hit{{2, 1}, {1, 2}}, theirs: []hit{{1, 2}, {2, 1}}, want: "place 0 has item 2"},
		"near, swapped":         {ours: []hit{{2, 2}, {1, 2}, {3, 1}}, theirs: []hit{{1, 2}, {2, 1.999999}, {3, 1}}},
		"near by steps":         {ours: []hit{{3, 1}, {2, 1}, {1, 1}}, theirs: []hit{{1, 1.000016}, {2, 1.000008}, {3, 1}}},
		"near, but one is far":  {ours: []hit{{3, 2}, {2, 2}, {1, 2}}, theirs: []hit{{1, 2}, {2, 1.999999}, {3, 1}}, want: "place 0 has item 3"},
		"all equal, swapped":    {ours: []hit{{2, 1}, {1, 1}}, theirs: []hit{{1, 1}, {2, 1}}, want: "place 0 has item 2"},
		"all zero, swapped":     {ours: []hit{{2, 0}, {1, 0}}, theirs: []hit{{1, 0}, {2, 0}}, want: "place 0 has item 2"},
		"scores are not judged": {ours: []hit{{1, 9}, {2, 8}}, theirs: []hit{{1, 2}, {2, 1}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := compare(tt.ours, tt.theirs)
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("compare = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFirstOdd(t *testing.T) {
	tests := map[string]struct {
		ours, theirs []hit
		want         int64
	}{
		"only here":  {ours: []hit{{1, 1}, {2, 1}}, theirs: []hit{{1, 1}}, want: 2},
		"only there": {ours: []hit{{1, 1}}, theirs: []hit{{1, 1}, {3, 1}}, want: 3},
		"order":      {ours: []hit{{1, 1}, {3, 1}, {2, 1}}, theirs: []hit{{1, 1}, {2, 1}, {3, 1}}, want: 3},
		"same":       {ours: []hit{{4, 1}, {3, 1}}, theirs: []hit{{4, 1}, {3, 1}}, want: 4},
		"nothing":    {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := firstOdd(tt.ours, tt.theirs)
			if got != tt.want || ok != (tt.want != 0) {
				t.Errorf("firstOdd = %d, %v, want %d", got, ok, tt.want)
			}
		})
	}
}
