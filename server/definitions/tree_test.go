package definitions

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestTreesAreImmutableSortedMaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	now, want := newTree[int, int](cmp.Compare[int]), map[int]int{}
	kept, wasKept := now, maps.Clone(want)
	for step := range 20_000 {
		k := r.IntN(500)
		// The share of removals alternates between high and low, so that the tree shrinks and grows.
		if r.IntN(100) < 20+60*(step/2000%2) {
			now = now.without(k)
			delete(want, k)
		} else {
			now = now.with(k, step)
			want[k] = step
		}
		if now.get(k) != want[k] || now.len() != len(want) {
			t.Fatalf("step %d: %d is %d in a tree of %d, want %d in %d", step, k, now.get(k), now.len(), want[k], len(want))
		}
		if step%500 == 0 {
			checkTree(t, now, want)
			checkTree(t, kept, wasKept)
			kept, wasKept = now, maps.Clone(want)
		}
	}
}

// checkTree compares a tree with a map. It also iterates over the tree from every position.
func checkTree(t *testing.T, got tree[int, int], want map[int]int) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(want))
	if diff := gocmp.Diff(want, maps.Collect(got.all())); diff != "" {
		t.Fatal(diff)
	}
	for skip := range len(keys) + 2 {
		rest := make([]int, 0, len(keys))
		for k := range got.from(skip) {
			rest = append(rest, k)
		}
		if !slices.Equal(keys[min(skip, len(keys)):], rest) {
			t.Fatalf("from %d on: %v, want %v", skip, rest, keys[min(skip, len(keys)):])
		}
	}
}

func TestTreeOf(t *testing.T) {
	for n := range 200 {
		made := treeOf(cmp.Compare[int], n, func(i int) (int, int) { return 2 * i, i })
		want := map[int]int{}
		for i := range n {
			want[2*i] = i
		}
		checkTree(t, made, want)
		checkTree(t, made.with(5, 1).without(5), want)
	}
}

func TestTreeIterationStopsEarly(t *testing.T) {
	made := treeOf(cmp.Compare[int], 100, func(i int) (int, int) { return i, i })
	var got []int
	for k := range made.from(40) {
		if got = append(got, k); len(got) == 3 {
			break
		}
	}
	if diff := gocmp.Diff([]int{40, 41, 42}, got); diff != "" {
		t.Error(diff)
	}
}
