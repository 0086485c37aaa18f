package controllers

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// waiters remembers which owners were refused for something that another object can change: a claim that is held, a
// Property that is not there. An owner is added before its definition is applied and taken off when that went well, so
// that a change in between is never missed.
type waiters struct {
	mu     sync.Mutex
	owners map[library.PropertyID]map[library.Owner]bool
	// missing holds the time at which each owner first found its Property missing.
	missing map[library.Owner]time.Time
}

// anyProperty stands for all properties: tokens that wait for a value which another token holds are under it.
const anyProperty library.PropertyID = ""

func newWaiters() *waiters {
	return &waiters{owners: map[library.PropertyID]map[library.Owner]bool{}, missing: map[library.Owner]time.Time{}}
}

func (w *waiters) add(p library.PropertyID, o library.Owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owners[p] == nil {
		w.owners[p] = map[library.Owner]bool{}
	}
	w.owners[p][o] = true
}

func (w *waiters) remove(p library.PropertyID, o library.Owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.owners[p], o)
	if len(w.owners[p]) == 0 {
		delete(w.owners, p)
	}
}

// misses returns when o first found its Property missing, which is now if it had not before.
func (w *waiters) misses(o library.Owner, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.missing[o]; !ok {
		w.missing[o] = now
	}
	return w.missing[o]
}

// found notes that o has found its Property.
func (w *waiters) found(o library.Owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.missing, o)
}

// all returns everyone who waits.
func (w *waiters) all() []library.Owner {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []library.Owner
	for _, owners := range w.owners {
		list = slices.AppendSeq(list, maps.Keys(owners))
	}
	return list
}

// others returns who waits for something in p, besides o.
func (w *waiters) others(p library.PropertyID, o library.Owner) []library.Owner {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []library.Owner
	for waiting := range w.owners[p] {
		if waiting != o {
			list = append(list, waiting)
		}
	}
	return list
}
