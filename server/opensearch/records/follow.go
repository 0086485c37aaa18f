package records

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
)

// recordHit is a document of the definitions index.
type recordHit = cluster.Numbered[record]

// gapPatience is the time for which the follower waits for a missing operation. After that, the follower assumes that the operation
// stored nothing, or that its document has changed again. Operations become visible within milliseconds of one another.
const gapPatience = 10 * time.Second

// These constants limit one poll of the follower. The first limit is short, so that a node that does not respond delays the revocation of a
// token only until the next poll, which goes to another node. Each failure doubles the limit, because a slow cluster may need more time.
const (
	shortestPoll = 300 * time.Millisecond
	longestPoll  = 10 * time.Second
)

// Follow reads changes until ctx ends. Then it ends the listeners of tokens.
func (r *Records) Follow(ctx context.Context) {
	defer r.feed.Close()
	pause := time.NewTicker(r.interval)
	defer pause.Stop()
	limit := shortestPoll
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		err := r.poll(ctx, limit)
		if ctx.Err() != nil {
			return
		}
		r.note(err)
		if limit = min(2*limit, longestPoll); err == nil {
			limit = shortestPoll
		}
	}
}

// poll reads changes once. It takes at most `limit`.
func (r *Records) poll(ctx context.Context, limit time.Duration) error {
	unlock, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	began := time.Now()
	ctx, cancel := cluster.Limited(ctx, limit)
	defer cancel()
	if err := r.CatchUp(ctx); err != nil {
		return err
	}
	if err := r.attached(ctx); err != nil {
		return err
	}
	r.currency.advance(began)
	return nil
}

// attached fails unless the elected manager of the cluster responds. A node that has lost contact with its cluster still answers
// searches, but does not see writes to the other nodes.
func (r *Records) attached(ctx context.Context) error {
	if err := r.look(ctx, http.MethodGet, "/_cluster/health?filter_path=status", nil, &cluster.Health{}); err != nil {
		return fmt.Errorf("check that the cluster manager responds: %w", err)
	}
	return nil
}

// note keeps the error of the follower for probes. It logs when the follower begins to fail and when it recovers.
func (r *Records) note(err error) {
	r.problemMu.Lock()
	defer r.problemMu.Unlock()
	switch {
	case err != nil && r.failure == nil:
		r.logger.Warn("cannot read changes to the definitions, will retry", slog.Any("error", err))
	case err == nil && r.failure != nil:
		r.logger.Info("reads changes to the definitions again")
	}
	r.failure = err
}

// Problem returns the reason why the definitions may be out of date, or an empty string.
func (r *Records) Problem() string {
	r.problemMu.Lock()
	defer r.problemMu.Unlock()
	err := r.failure
	for _, id := range slices.Sorted(maps.Keys(r.unreadable)) {
		err = cmp.Or(err, r.unreadable[id])
	}
	if err == nil {
		return ""
	}
	return fmt.Sprintf("changes to definitions are not applied: %v", err)
}

// Fails reports whether the last poll failed.
func (r *Records) Fails() bool {
	r.problemMu.Lock()
	defer r.problemMu.Unlock()
	return r.failure != nil
}

// setUnreadable records which documents of d cannot be read. The parameter `all` is true if d contains all documents.
func (r *Records) setUnreadable(d *decoded, all bool) {
	r.problemMu.Lock()
	defer r.problemMu.Unlock()
	if all || r.unreadable == nil {
		r.unreadable = map[string]error{}
	}
	for id := range d.seen {
		delete(r.unreadable, id)
	}
	for id, err := range d.unreadable {
		r.logger.Warn("cannot read a definition; its previous state stays in use, unless it is a token, which is rejected", slog.Any("error", err))
		r.unreadable[id] = err
	}
}

// keepReadable keeps the previous definition of a document that has become unreadable. However, it removes a token, because the document
// may revoke the token.
func (r *Records) keepReadable(d *decoded, source definitions.Source) {
	e := r.Now().Set.Entry(source)
	if e != nil && e.Latest.Token != nil {
		e = nil
	}
	if source != (definitions.Source{}) {
		d.entries[source] = e
	}
}

// LookTimeout limits one request for changes. Without this limit, a connection that is silently lost would delay the revocation of tokens
// and other changes.
const LookTimeout = 3 * time.Second

// look sends a request for changes.
func (r *Records) look(ctx context.Context, method, path string, body any, out cluster.Answer) error {
	ctx, cancel := cluster.Limited(ctx, LookTimeout)
	defer cancel()
	return r.cluster.Do(ctx, method, path, body, out)
}

// since returns the records whose last operation has at least the sequence number `from`, ordered by that number.
func (r *Records) since(ctx context.Context, from int64) ([]recordHit, error) {
	hits, err := cluster.BySequence[record](ctx, r.look, r.names.Definitions(), from)
	if err != nil {
		return nil, fmt.Errorf("read the definitions: %w", err)
	}
	return hits, nil
}

// CatchUp reads the records that have changed and updates the state with them. If it fails, nothing changes, and the next call reads the
// same records again. The caller holds changing.
func (r *Records) CatchUp(ctx context.Context) error {
	hits, err := r.since(ctx, r.next)
	if err != nil {
		return err
	}
	var news []recordHit
	for _, h := range hits {
		if h.Term > r.term {
			// Another copy of the shard became the primary. Operations that this copy does not have were never acknowledged.
			return r.Reload(ctx)
		}
		if r.seen[h.ID].Version != h.Version {
			news = append(news, h)
		}
	}
	if len(news) > 0 {
		now := r.Now()
		read, err := r.decode(news, maps.Clone(now.Marks))
		if err != nil {
			return err
		}
		c := definitions.NewChange(now.Set)
		if err := c.Stage(read.entries); err != nil {
			return fmt.Errorf("read the definitions: %w", err)
		}
		r.setUnreadable(read, false)
		maps.Copy(r.seen, read.seen)
		r.publish(c, read.marks)
	}
	r.advance(hits)
	return nil
}

// advance raises next past the operations that were seen. Operations can become visible out of order, so next stays at a missing
// operation until gapPatience has passed.
func (r *Records) advance(hits []recordHit) {
	for _, h := range hits {
		if h.Seq > r.next {
			if r.gapped.IsZero() {
				r.gapped = time.Now()
			}
			if time.Since(r.gapped) < gapPatience {
				return
			}
		}
		r.next, r.gapped = h.Seq+1, time.Time{}
	}
}
