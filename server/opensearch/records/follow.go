package records

import (
	"context"
	"time"

	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
)

// These constants limit one poll of the follower. The first limit is short, so that a node that does not respond delays the revocation of a
// token only until the next poll, which goes to another node. Each failure doubles the limit, because a slow cluster may need more time,
// and the definitions may be many.
const (
	shortestPoll = 300 * time.Millisecond
	longestPoll  = 20 * time.Second
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
