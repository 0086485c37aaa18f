package definitions

import (
	"iter"

	"github.com/tidwall/btree"
)

// tree is a sorted map that is never changed: with and without return another one that shares with it all but the path to
// what changed. So one more definition among ten thousand costs a few small nodes, and whoever holds the map of before goes
// on reading it without a lock. The zero value is of no use, see newTree.
type tree[K, V any] struct {
	pairs *btree.BTreeG[pair[K, V]]
}

type pair[K, V any] struct {
	key   K
	value V
}

// treeDegree keeps nodes small: each change copies those on its path.
const treeDegree = 8

func newTree[K, V any](compare func(a, b K) int) tree[K, V] {
	return tree[K, V]{btree.NewBTreeGOptions(
		func(a, b pair[K, V]) bool { return compare(a.key, b.key) < 0 },
		// Nobody writes to a tree that another one can see.
		btree.Options{NoLocks: true, Degree: treeDegree},
	)}
}

// treeOf makes a tree of n pairs at once; at returns them in the order of their keys, which differ.
func treeOf[K, V any](compare func(a, b K) int, n int, at func(i int) (K, V)) tree[K, V] {
	t := newTree[K, V](compare)
	for i := range n {
		k, v := at(i)
		t.pairs.Load(pair[K, V]{k, v})
	}
	return t
}

func (t tree[K, V]) len() int { return t.pairs.Len() }

// get returns the value of a key, the zero value where there is none.
func (t tree[K, V]) get(k K) V {
	found, _ := t.pairs.Get(pair[K, V]{key: k})
	return found.value
}

// with returns the tree with that value for a key.
func (t tree[K, V]) with(k K, v V) tree[K, V] {
	next := t.pairs.Copy()
	next.Set(pair[K, V]{k, v})
	return tree[K, V]{next}
}

// without returns the tree without a key.
func (t tree[K, V]) without(k K) tree[K, V] {
	next := t.pairs.Copy()
	next.Delete(pair[K, V]{key: k})
	return tree[K, V]{next}
}

// all yields the pairs in the order of their keys.
func (t tree[K, V]) all() iter.Seq2[K, V] { return t.from(0) }

// from yields the pairs in the order of their keys, without the first n.
func (t tree[K, V]) from(n int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		first, found := t.pairs.GetAt(n)
		if !found {
			return
		}
		t.pairs.Ascend(first, func(p pair[K, V]) bool { return yield(p.key, p.value) })
	}
}

// after yields the pairs whose keys come after k, in the order of their keys.
func (t tree[K, V]) after(k K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		pivot := pair[K, V]{key: k}
		t.pairs.Ascend(pivot, func(p pair[K, V]) bool { return !t.pairs.Less(pivot, p) || yield(p.key, p.value) })
	}
}
