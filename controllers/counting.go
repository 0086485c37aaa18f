package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
)

var _ counts.Objects = (*Set)(nil)

// Counted implements counts.Objects.
func (s *Set) Counted(ctx context.Context, visit func(v1alpha1.Object, counts.Func)) (complete bool, err error) {
	complete = true
	for _, k := range kinds() {
		if k.count == nil {
			continue
		}
		err := s.each(ctx, k, nil, func(o v1alpha1.Object) {
			switch {
			case s.written.stale(o):
				complete = false // a pass may just have written counts from before the last content change
			case verdict.Ready(o).Status != "True" || o.Suspended() || *o.StatusObservedGeneration() != o.GetGeneration():
				// An object that is not served has no counts. If the object has a newer spec, the next pass updates the counts.
			case s.rivals.of(o.GetNamespace()) != "":
				// The other operator writes the counts in this namespace.
			default:
				visit(o, k.count)
			}
		})
		if err != nil {
			return false, err
		}
	}
	return complete, nil
}

// WriteCounts implements counts.Objects. It does not note the write in s.written, because the worst effect of a stale read is that a pass
// writes the same counts again.
func (s *Set) WriteCounts(ctx context.Context, before, o v1alpha1.Object) error {
	return client.IgnoreNotFound(s.writeStatus(ctx, before, o))
}

// Reported implements counts.Objects.
func (s *Set) Reported() uint64 { return s.reported.Load() }
