package reference

import (
	"container/list"
	"sync"
	"time"
)

// results keeps the listings read last, so that paging through one walks the items once. A listing is found by a name
// that changes with everything it depends on but the clock, and only while the clock is in its interval.
type results struct {
	mu     sync.Mutex
	limit  int
	byName map[string]*list.Element
	recent *list.List // of *keptResult, the one used last first
}

type keptResult struct {
	name  string
	valid interval
	found *result
}

func newResults(limit int) *results {
	return &results{limit: limit, byName: map[string]*list.Element{}, recent: list.New()}
}

// get returns a listing that is right at that time, nil for none.
func (r *results) get(name string, now time.Time) *result {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byName[name]
	if e == nil {
		return nil
	}
	kept := e.Value.(*keptResult)
	if !kept.valid.contains(now) {
		return nil
	}
	r.recent.MoveToFront(e)
	return kept.found
}

func (r *results) put(name string, valid interval, found *result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.byName[name]; e != nil {
		r.recent.Remove(e)
	}
	r.byName[name] = r.recent.PushFront(&keptResult{name: name, valid: valid, found: found})
	for r.recent.Len() > r.limit {
		last := r.recent.Back()
		r.recent.Remove(last)
		delete(r.byName, last.Value.(*keptResult).name)
	}
}

func (r *results) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.byName)
	r.recent.Init()
}
