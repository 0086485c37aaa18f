package definitions

import (
	"iter"

	"github.com/tidwall/btree"
)

// tree is an immutable sorted map. The methods with and without return a new tree, which shares all nodes with the old one except those on
// the path to the change. Adding one definition to ten thousand others therefore copies only a few small nodes, and readers of the old tree
// need no lock. The zero value is not usable. Use newTree.
type tree[K, V any] struct {
	pairs *btree.BTreeG[pair[K, V]]
}

type pair[K, V any] struct {
	key   K
	value V
}

// treeDegree determines the size of the nodes. It is small, because each change copies the nodes on its path.
const treeDegree = 8

func newTree[K, V any](compare func(a, b K) int) tree[K, V] {
	return tree[K, V]{btree.NewBTreeGOptions(
		func(a, b pair[K, V]) bool { return compare(a.key, b.key) < 0 },
		// No locks are needed, because the tree is never modified after other goroutines can read it.
		btree.Options{NoLocks: true, Degree: treeDegree},
	)}
}

// treeOf builds a tree of n pairs. The function at returns the i-th pair in the order of the keys. All keys must be distinct.
func treeOf[K, V any](compare func(a, b K) int, n int, at func(i int) (K, V)) tree[K, V] {
	t := newTree[K, V](compare)
	for i := range n {
		k, v := at(i)
		t.pairs.Load(pair[K, V]{k, v})
	}
	return t
}

func (t tree[K, V]) len() int { return t.pairs.Len() }

// get returns the value of a key, or the zero value if there is none.
func (t tree[K, V]) get(k K) V {
	found, _ := t.pairs.Get(pair[K, V]{key: k})
	return found.value
}

// with returns a copy of the tree in which the key k has the value v.
func (t tree[K, V]) with(k K, v V) tree[K, V] {
	next := t.pairs.Copy()
	next.Set(pair[K, V]{k, v})
	return tree[K, V]{next}
}

// without returns a copy of the tree without the key k.
func (t tree[K, V]) without(k K) tree[K, V] {
	next := t.pairs.Copy()
	next.Delete(pair[K, V]{key: k})
	return tree[K, V]{next}
}

// all yields the pairs in key order.
func (t tree[K, V]) all() iter.Seq2[K, V] { return t.from(0) }

// from skips the first n pairs in key order and yields the others.
func (t tree[K, V]) from(n int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		first, found := t.pairs.GetAt(n)
		if !found {
			return
		}
		t.pairs.Ascend(first, func(p pair[K, V]) bool { return yield(p.key, p.value) })
	}
}

// after yields the pairs whose keys follow k, in key order.
func (t tree[K, V]) after(k K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		pivot := pair[K, V]{key: k}
		t.pairs.Ascend(pivot, func(p pair[K, V]) bool { return !t.pairs.Less(pivot, p) || yield(p.key, p.value) })
	}
}
