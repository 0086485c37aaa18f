package main

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	tests := map[string]struct {
		ours, theirs []hit
		want         string // part of the complaint; "" for none
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
