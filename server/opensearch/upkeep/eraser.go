package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/facts"
)

// Eraser removes the bytes of deleted items, and of changed or removed submissions, from the files of the cluster within
// a given time. OpenSearch only hides a deleted document: the bytes stay in a segment until OpenSearch merges the segment. In
// addition, the copies of a shard keep the history of operations for one another.
//
// Before a write erases data, it stores a note for its property, so that a pending erasure is not lost if all replicas stop. The eraser
// makes OpenSearch write its segments and discard the translog. One step later, no copy of the shard needs the history, and the eraser
// makes OpenSearch merge the segments that have deleted documents. Then the eraser deletes the note, unless another write has stored it
// again.
//
// Every replica runs an eraser. A claim decides which eraser works.
type Eraser struct {
	shared
	// within is the maximum time that the bytes of a deleted item may stay in the files.
	within time.Duration
	claim  *facts.Claim
	// expire is the time after which a claim of a replica that has crashed is void.
	expire time.Duration
	// noted contains, for each property, the time at which this replica last stored the property's note.
	noted sync.Map
}

const (
	// eraserClaim is the id of the claim in the facts index.
	eraserClaim = "erasing"
	// eraseSteps is the number of equal steps into which that time is divided. If a note is stored just after the eraser has read
	// the notes, it is processed after four steps. If the eraser crashes at the end of these steps, another eraser needs two more steps.
	// The last step is for the merges.
	eraseSteps = 7
	// noteSteps limits how often one replica stores the note of a property: noteSteps times in a step. A write may rely on a note with an
	// age of up to step/noteSteps (about 4 seconds by default), and takes up to Options.Timeout (30 seconds by default). Together, these
	// times are shorter than the step for which the eraser waits after it has read the notes.
	noteSteps = 20
)

func newEraser(s shared, within time.Duration, times Times) *Eraser {
	return &Eraser{shared: s, within: within, claim: s.facts.NewClaim(eraserClaim, times.Renew, times.Expire), expire: times.Expire}
}

// step returns the duration of one of the eraseSteps equal steps.
func (e *Eraser) step() time.Duration { return e.within / eraseSteps }

// Note stores a note that a write will erase data of a property. It does nothing if the last note is recent.
func (e *Eraser) Note(ctx context.Context, p library.PropertyID) error {
	if at, ok := e.noted.Load(p); ok && time.Since(at.(time.Time)) < e.step()/noteSteps {
		return nil
	}
	now := time.Now()
	if err := e.facts.PutNote(ctx, p); err != nil {
		return err
	}
	e.noted.Store(p, now)
	return nil
}

// Run calls erase repeatedly until ctx ends.
func (e *Eraser) Run(ctx context.Context) {
	for pause := e.step(); cluster.Sleep(ctx, pause); {
		held, err := e.erase(ctx)
		if err != nil && ctx.Err() == nil {
			e.logger.Warn("cannot erase deleted items from the files of OpenSearch, will retry", slog.Any("error", err))
		}
		if pause = e.step(); held {
			pause = min(pause, e.expire) // another replica that holds the claim may have crashed
		}
	}
}

// erase erases deleted data from the files of each property that has a note. If another replica holds the claim, erase does nothing and
// returns true. A frozen library accepts no merge, so its notes stay until it accepts writes again.
func (e *Eraser) erase(ctx context.Context) (held bool, err error) {
	notes, err := e.notes(ctx)
	if err != nil || len(notes) == 0 {
		return false, err
	}
	ctx, release, err := e.claim.Take(ctx)
	if err != nil || release == nil {
		return err == nil, err
	}
	defer release()
	return false, e.eraseNoted(ctx, notes)
}

// eraseNoted erases deleted data from the files of each property that has a note, until no note is left.
func (e *Eraser) eraseNoted(ctx context.Context, notes map[library.PropertyID]cluster.Version) (err error) {
	for len(notes) > 0 {
		if !cluster.Sleep(ctx, e.step()) || e.frozen() != "" {
			return nil
		}
		for p := range notes {
			if failed := e.ask(ctx, p, "/_flush"); failed != nil {
				err = errors.Join(err, failed)
				delete(notes, p) // without the flush, a merge would keep the deleted documents
			}
		}
		if !cluster.Sleep(ctx, e.step()) || e.frozen() != "" {
			return err
		}
		for p, at := range notes {
			failed := e.ask(ctx, p, "/_forcemerge?only_expunge_deletes=true&flush=true")
			if failed == nil {
				failed = e.facts.DeleteNote(ctx, p, at)
			}
			err = errors.Join(err, failed)
		}
		if err != nil {
			return err
		}
		if notes, err = e.notes(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ask sends a request to the index of a property.
func (e *Eraser) ask(ctx context.Context, p library.PropertyID, path string) error {
	if err := e.indices.OnAllCopies(ctx, p, path, e.within); err != nil {
		return fmt.Errorf("erase deleted items of property %s: %w", p, err)
	}
	return nil
}

// notes returns the notes of the properties that have an index. The note of any other property stays until the property has an index.
func (e *Eraser) notes(ctx context.Context) (map[library.PropertyID]cluster.Version, error) {
	if e.frozen() != "" {
		return nil, nil
	}
	all, err := e.indices.Generations(ctx, e.indices.Names.EveryItems())
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return e.facts.Notes(ctx, slices.Collect(maps.Keys(all)))
}
