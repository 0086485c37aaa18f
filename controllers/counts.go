package controllers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

const (
	// countWrites is how many counts are written a second, over all objects: they serve kubectl get, not displays.
	countWrites = 2
	// countShare bounds what counting costs while content changes all the time: after a look at all objects it rests for
	// countShare times as long as the look took, listing and copying them included, so that it takes a twentieth of a core at
	// most. The time spent waiting to write does not count.
	countShare = 20
	// countAnyway is how often counts are looked at at most while nothing changes: queries with `now` move by time alone.
	countAnyway = time.Minute
	// idsAtOnce keeps the queries that count listed items below the language's limit of clauses.
	idsAtOnce = 500
	// missingFirst is how many missing ids a status names.
	missingFirst = 10
)

// keepCounts brings the counts in status up to date until ctx ends. It is the only writer of status besides the
// reconcilers, and nothing that it writes sets off a reconcile.
func (e *environment) keepCounts(ctx context.Context) error {
	limiter := rate.NewLimiter(countWrites, 1)
	var seen, reported uint64
	var last, rested time.Time
	var moves tally
	ticker := time.NewTicker(e.CountInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		version, reports := e.Library.State(ctx).Version, e.reported.Load()
		still := version == seen && reports == reported && (!moves.due(e.Clock()) || time.Since(last) < countAnyway)
		began := e.now()
		if still || began.Before(rested) {
			continue
		}
		complete := true
		var next tally
		var waited time.Duration
		for _, k := range kinds() {
			if k.count == nil {
				continue
			}
			if err := e.each(ctx, k, nil, func(o v1alpha1.Object) { complete = e.keepCount(ctx, limiter, k, o, &next, &waited) && complete }); err != nil {
				return err
			}
		}
		ended := e.now()
		rested = ended.Add(countShare * (ended.Sub(began) - waited))
		if complete {
			seen, reported, last, moves = version, reports, time.Now(), next
		}
	}
}

// tally knows when the first of the counts that were looked at may move by time alone.
type tally struct{ first time.Time }

// note takes in what was read for a count.
func (t *tally) note(p *library.Page) {
	if !p.Expires.IsZero() && (t.first.IsZero() || p.Expires.Before(t.first)) {
		t.first = p.Expires
	}
}

// due reports whether a count may have moved.
func (t *tally) due(now time.Time) bool { return !t.first.IsZero() && !now.Before(t.first) }

// keepCount updates the counts of one object, and reports whether they are up to date. It adds the time it waited to write to
// waited, and notes in moves when the count may change by time alone.
func (e *environment) keepCount(
	ctx context.Context, limiter *rate.Limiter, k kind, o v1alpha1.Object, moves *tally, waited *time.Duration,
) bool {
	if ctx.Err() != nil {
		return false
	}
	if e.written.stale(o) {
		return false // it may be served by now, and its round may have counted before the last change of content
	}
	// An object that is not served has nothing to count; one whose newest spec waits for its round is looked at after that.
	if verdict.Ready(o).Status != "True" || o.Suspended() || *o.StatusObservedGeneration() != o.GetGeneration() {
		return true
	}
	if e.rivals.of(o.GetNamespace()) != "" {
		return true // another operator counts here
	}
	before := o.DeepCopyObject().(v1alpha1.Object)
	changed, err := k.count(ctx, e, o, moves)
	if err != nil {
		e.Logger.V(1).Info("could not count", "object", client.ObjectKeyFromObject(o), "kind", k.library.String(), "reason", err.Error())
		return false
	}
	if !changed || equality.Semantic.DeepEqual(before, o) {
		return true
	}
	began := e.now()
	defer func() { *waited += e.now().Sub(began) }()
	if limiter.Wait(ctx) != nil {
		return false
	}
	if err := e.client.Status().Patch(ctx, o, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		e.Logger.V(1).Info("could not write a count", "object", client.ObjectKeyFromObject(o), "kind", k.library.String(), "reason", err.Error())
		return false
	}
	e.metrics.writes.WithLabelValues(k.library.String()).Inc()
	// Not noted as written: a reconciler that reads past this patch would at most write the same count again.
	return true
}

// setCount takes over a count where the difference is worth a write: between 0 and more, or a tenth.
func setCount(shown **int64, n int64) bool {
	if *shown != nil {
		was := **shown
		if was == n || (was != 0 && n != 0 && max(n-was, was-n)*10 < was) {
			return false
		}
	}
	*shown = &n
	return true
}

// setMissing takes over what is missing where it passed between none and some, or the count changed as setCount says.
func setMissing(shown **v1alpha1.MissingItems, lost *v1alpha1.MissingItems) bool {
	if *shown != nil && lost != nil {
		count := &(*shown).Count
		if !setCount(&count, lost.Count) {
			return false
		}
	} else if *shown == nil && lost == nil {
		return false
	}
	*shown = lost
	return true
}

// countRule counts the items that a rule chooses, by id or by selector, and the listed ids that are not there.
func (e *environment) countRule(
	ctx context.Context, p library.PropertyID, ids []item.ID, kind library.Kind, selector *v1alpha1.Selector, moves *tally,
) (int64, *v1alpha1.MissingItems, error) {
	var rule query.Node
	var total int64
	if selector != nil {
		node, _, err := library.ParseSelector(kind, selector.Query)
		if err != nil {
			return 0, nil, err
		}
		if total, err = e.total(ctx, p, node, moves); err != nil {
			return 0, nil, err
		}
		rule = node
	}
	var lost v1alpha1.MissingItems
	for chunk := range slices.Chunk(ids, idsAtOnce) {
		listed := anyID(chunk)
		there, err := e.total(ctx, p, listed, moves)
		if err != nil {
			return 0, nil, err
		}
		if gone := int64(len(chunk)) - there; gone > 0 {
			lost.Count += gone
			if err := e.nameMissing(ctx, p, chunk, &lost, moves); err != nil {
				return 0, nil, err
			}
		}
		if rule != nil {
			both, err := e.total(ctx, p, query.And(listed, rule), moves)
			if err != nil {
				return 0, nil, err
			}
			there -= both
		}
		total += there
	}
	if lost.Count == 0 {
		return total, nil, nil
	}
	return total, &lost, nil
}

// nameMissing adds ids of chunk that are not there, until enough are named.
func (e *environment) nameMissing(ctx context.Context, p library.PropertyID, chunk []item.ID, lost *v1alpha1.MissingItems, moves *tally) error {
	for _, id := range chunk {
		if len(lost.First) == missingFirst {
			return nil
		}
		n, err := e.total(ctx, p, anyID([]item.ID{id}), moves)
		if err != nil {
			return err
		}
		if n == 0 {
			lost.First = append(lost.First, id)
		}
	}
	return nil
}

func anyID(ids []item.ID) query.Node {
	clauses := make([]query.Clause, len(ids))
	for i, id := range ids {
		clauses[i].Node = query.FieldTerm("id", strconv.FormatInt(id, 10))
	}
	return query.Bool{Clauses: clauses}
}

func (e *environment) total(ctx context.Context, p library.PropertyID, q query.Node, moves *tally) (int64, error) {
	page, err := e.Library.Read(ctx, library.Read{Property: p, Audience: query.Private, Query: q, Now: e.Clock()})
	if err != nil {
		return 0, fmt.Errorf("count the items of a rule: %w", err)
	}
	moves.note(page)
	return page.Total, nil
}
