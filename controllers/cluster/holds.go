package cluster

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/server/library"
)

// holds records the removals that wait for confirmation. It outlives a manager.
type holds struct {
	gauge  prometheus.Gauge
	mu     sync.Mutex
	owners map[library.Owner]bool
	// perNamespace counts owners by namespace.
	perNamespace map[string]int
	// absent records the kinds whose CRD is missing or being deleted.
	absent map[library.Kind]bool
}

func newHolds(gauge prometheus.Gauge) *holds {
	return &holds{gauge: gauge, owners: map[library.Owner]bool{}, perNamespace: map[string]int{}, absent: map[library.Kind]bool{}}
}

// add holds the removals of owners, and returns the namespaces in which nothing was held before.
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

// drop ends the holds on owners.
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

// has reports whether the removal of the definition of o is held.
func (h *holds) has(o library.Owner) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.owners[o]
}

// all returns the owners whose removals are held.
func (h *holds) all() []library.Owner {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.owners))
}

// len returns the number of held removals.
func (h *holds) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.owners)
}

// note records whether the CRD of a kind is absent, and reports whether this has changed.
func (h *holds) note(k library.Kind, absent bool) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed = h.absent[k] != absent
	h.absent[k] = absent
	return changed
}

// missing returns the names of the absent CRDs, or "" if there are none.
func (h *holds) missing() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, k := range library.Kinds() {
		if h.absent[k] {
			names = append(names, crdName(k))
		}
	}
	return strings.Join(names, ", ")
}
