package cluster

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/server/library"
)

// holds are the removals that wait for confirmation. They outlive a manager.
type holds struct {
	gauge  prometheus.Gauge
	mu     sync.Mutex
	owners map[library.Owner]bool
	// perNamespace counts owners.
	perNamespace map[string]int
	// absent are the kinds whose CRD is missing or being deleted.
	absent map[library.Kind]bool
}

func newHolds(gauge prometheus.Gauge) *holds {
	return &holds{gauge: gauge, owners: map[library.Owner]bool{}, perNamespace: map[string]int{}, absent: map[library.Kind]bool{}}
}

// add holds owners, and returns the namespaces in which nothing was held before.
func (h *holds) add(owners ...library.Owner) (namespaces []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range owners {
		if h.owners[o] {
			continue
		}
		if h.perNamespace[o.Namespace] == 0 {
			namespaces = append(namespaces, o.Namespace)
		}
		h.owners[o] = true
		h.perNamespace[o.Namespace]++
	}
	h.gauge.Set(float64(len(h.owners)))
	return namespaces
}

// drop ends the hold on owners: they are back, or were removed.
func (h *holds) drop(owners ...library.Owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range owners {
		if h.owners[o] {
			delete(h.owners, o)
			h.perNamespace[o.Namespace]--
		}
	}
	h.gauge.Set(float64(len(h.owners)))
}

// has reports whether the removal of what o declared is held.
func (h *holds) has(o library.Owner) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.owners[o]
}

// all returns every owner that is held.
func (h *holds) all() []library.Owner {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.owners))
}

// len returns the number of definitions that are held.
func (h *holds) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.owners)
}

// note remembers whether the CRD of a kind is absent, and reports whether that changed.
func (h *holds) note(k library.Kind, absent bool) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed = h.absent[k] != absent
	h.absent[k] = absent
	return changed
}

// missing names the CRDs that are absent, "" when none is.
func (h *holds) missing() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, k := range kinds() {
		if h.absent[k] {
			names = append(names, crdName(k))
		}
	}
	return strings.Join(names, ", ")
}
