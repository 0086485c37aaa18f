package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/facts"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// Trimmer removes tombstones of deleted items that are too old or too many. Before it removes a tombstone, it stores in the same index that
// the changes up to it are lost. Every copy of the shard executes the two operations in this order, so a search that misses the tombstone
// finds the note.
//
// Every replica runs a trimmer. A claim decides which trimmer works.
type Trimmer struct {
	shared
	journal  Journal
	interval time.Duration
	claim    *facts.Claim
}

// Journal limits the tombstones in an index of items.
type Journal struct {
	// Age is the time for which a tombstone stays. Changes is the maximum number of tombstones that stay.
	Age     time.Duration
	Changes int64
	// Clock is the clock that the tombstones contain the times of.
	Clock func() time.Time
}

// trimmerClaim is the id of the claim in the facts index. trimmedAtOnce is the maximum number of tombstones that a trimmer removes in one
// step.
const (
	trimmerClaim  = "trimming"
	trimmedAtOnce = 1000
)

func newTrimmer(s shared, j Journal, times Times) *Trimmer {
	return &Trimmer{shared: s, journal: j, interval: times.Trim, claim: s.facts.NewClaim(trimmerClaim, times.Renew, times.Expire)}
}

// Run removes tombstones repeatedly until ctx ends.
func (t *Trimmer) Run(ctx context.Context) {
	for cluster.Sleep(ctx, t.interval) {
		if err := t.work(ctx); err != nil && ctx.Err() == nil {
			t.logger.Warn("cannot remove the marks of deleted items, will retry", slog.Any("error", err), slog.Duration("in", t.interval))
		}
	}
}

// excess returns the number of tombstones of an index that are too many. It returns false if the index has no tombstone to remove.
func (t *Trimmer) excess(of indices.Tombstones) (n int64, ok bool) {
	n = of.Count - t.journal.Changes
	return n, n > 0 || of.Oldest < t.oldest()
}

// oldest returns the time of the oldest deletion whose tombstone may stay, in milliseconds.
func (t *Trimmer) oldest() int64 { return t.journal.Clock().Add(-t.journal.Age).UnixMilli() }

// work removes tombstones, unless another replica holds the claim. A frozen library keeps all of them.
func (t *Trimmer) work(ctx context.Context) error {
	if t.frozen() != "" {
		return nil
	}
	found, err := t.indices.Tombstones(ctx, nil)
	if err != nil {
		return err
	}
	due := false
	for _, of := range found {
		_, ok := t.excess(of)
		due = due || ok
	}
	if !due {
		return nil
	}
	ctx, release, err := t.claim.Take(ctx)
	if err != nil || release == nil {
		return err
	}
	defer release()
	all, err := t.indices.Generations(ctx, t.indices.Names.EveryItems())
	if err != nil {
		return err
	}
	for p, g := range all {
		if g.Current == nil || !g.Current.Active || g.Current.Blocked {
			continue
		}
		if n, ok := t.excess(found[g.Current.Name]); ok {
			if failed := t.trim(ctx, g.Current, n); failed != nil {
				err = errors.Join(err, fmt.Errorf("property %s: %w", p, failed))
			}
		}
	}
	return err
}

// trim removes the oldest tombstones of an index: those that are too old, and as many others as are too many.
func (t *Trimmer) trim(ctx context.Context, x *indices.Index, excess int64) error {
	id, _ := strconv.ParseInt(schema.FloorID, 10, 64)
	stored, err := t.indices.LoadAll(ctx, x.Writes(), []item.ID{id}, schema.FieldFloor)
	if err != nil {
		return err
	}
	var floor int64
	note := cluster.Operation{Index: x.Writes(), ID: schema.FloorID}
	if is := stored[id]; is != nil {
		note.At, floor = &is.Version, is.Floor()
	}
	for from := int64(0); ; {
		var found cluster.HitsOf[indices.Stored]
		body := object{
			"size": trimmedAtOnce, "track_total_hits": false, "seq_no_primary_term": true, "stored_fields": []string{schema.FieldGone},
			"query": object{"bool": object{
				"filter":   []object{schema.Tombstones(), {"range": object{"_seq_no": object{"gte": from}}}},
				"must_not": object{"ids": object{"values": []string{schema.FloorID}}},
			}},
			"sort": []any{object{"_seq_no": "asc"}},
		}
		if err := t.indices.Cluster.Do(ctx, http.MethodPost, "/"+x.Name+cluster.SearchPath, body, &found); err != nil {
			return err
		}
		var ops []cluster.Operation
		oldest := t.oldest()
		for _, h := range found.Hits.Hits {
			if excess--; excess < 0 && h.Fields.Gone[0] >= oldest {
				break
			}
			// If an item got the id of a deleted one in the meantime, the operation is a conflict, and the item stays.
			ops = append(ops, cluster.Operation{Index: x.Writes(), ID: strconv.FormatInt(h.ID, 10), At: &h.Version})
			from = h.Seq + 1
		}
		if len(ops) == 0 {
			return nil
		}
		if from > floor {
			floor = from
			// The time is later than that of any tombstone, so that Tombstones.Oldest describes the others.
			note.Doc = object{schema.FieldGone: int64(math.MaxInt64), schema.FieldFloor: floor}
			is := t.indices.Cluster.Bulk(ctx, []cluster.Operation{note}, cluster.RefreshNone)[0]
			if is.Err != nil || is.Conflict {
				return is.Err // after a conflict, another replica has taken over
			}
			note.At = &is.Version
		}
		if err := cluster.FirstError(t.indices.Cluster.Bulk(ctx, ops, cluster.RefreshNone)); err != nil {
			return err
		}
		if len(ops) < trimmedAtOnce {
			return nil
		}
	}
}
