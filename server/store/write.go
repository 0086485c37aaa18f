package store

import (
	"context"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Write changes items (see library.Library).
func (s *Store) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	outcomes := make([]library.Outcome, len(muts))
	stage := func(c *change) error {
		if c.defs.Catalogue(p) == nil {
			return fmt.Errorf("write to property %s: %w", p, library.ErrNoProperty)
		}
		full := s.options.Pressure() >= library.Full
		for i, m := range muts {
			if full && !m.Delete {
				outcomes[i] = library.Outcome{ID: m.ID, Err: fmt.Errorf("%w: the process is running out of memory", library.ErrUnavailable)}
				continue
			}
			outcomes[i] = c.in(p).Mutate(m)
		}
		return nil
	}
	if err := s.do(ctx, request{shares: withItems, stage: stage, property: p, mutations: muts}); err != nil {
		return nil, err
	}
	return outcomes, nil
}
