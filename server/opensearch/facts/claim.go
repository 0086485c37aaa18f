package facts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
)

// Claim is a document in the facts index that decides which replica does a task. The holder of the claim renews it. Another replica takes
// over the claim after it has seen the same state of the document for the duration `expire`. Replicas never compare their clocks.
type Claim struct {
	facts *Facts
	// id is the id of the document.
	id string
	// renew is the time between two renewals. A claim that is not renewed for the duration `expire` is void.
	renew, expire time.Duration
	// seen is the last state of the document that this replica has seen. since is the time at which it first saw that state.
	seen  cluster.Version
	since time.Time
}

// NewClaim returns the claim with an id, which is not taken yet. See Claim for the durations.
func (f *Facts) NewClaim(id string, renew, expire time.Duration) *Claim {
	return &Claim{facts: f, id: id, renew: renew, expire: expire}
}

// Take takes the claim and renews it until the caller calls release. The returned context ends when the claim is lost. If another replica
// holds the claim, release is nil.
func (c *Claim) Take(ctx context.Context) (held context.Context, release func(), err error) {
	at, _, err := c.read(ctx)
	if err != nil {
		return ctx, nil, err
	}
	if at != nil {
		if *at != c.seen {
			c.seen, c.since = *at, time.Now()
		}
		if time.Since(c.since) < c.expire {
			return ctx, nil, nil
		}
	}
	mine := fact{Token: rand.Text()}
	if ok, err := c.store(ctx, at, mine); err != nil || !ok {
		return ctx, nil, err
	}
	held, lose := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.keep(held, mine, lose)
	}()
	return held, func() {
		lose(nil)
		<-ended
		// If the claim cannot be released, it expires.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cluster.ReleaseTimeout)
		defer cancel()
		if at, token, err := c.read(ctx); err == nil && token == mine.Token {
			_, _ = c.store(ctx, at, nil)
		}
	}, nil
}

// keep renews the claim until ctx ends, or until another replica has taken it.
func (c *Claim) keep(ctx context.Context, mine fact, lose context.CancelCauseFunc) {
	ticks := time.NewTicker(c.renew)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		// After an error, the next attempt may succeed. It does no harm if another replica takes over the claim before that attempt.
		at, token, err := c.read(ctx)
		if err == nil && token != mine.Token {
			lose(errClaimLost)
			return
		}
		if err == nil {
			_, _ = c.store(ctx, at, mine)
		}
	}
}

var errClaimLost = errors.New("another replica has taken over the task")

// read returns the state of the document and its token. at is nil if the document does not exist.
func (c *Claim) read(ctx context.Context) (at *cluster.Version, token string, err error) {
	var found cluster.GotDocument[fact]
	err = c.facts.cluster.Do(ctx, http.MethodGet, "/"+c.facts.names.Facts()+"/_doc/"+c.id, nil, &found)
	if cluster.IsAbsent(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the claim %s: %w", c.id, err)
	}
	return &found.Version, found.Source.Token, nil
}

// store replaces the state `at` of the document with doc. If at is nil, the document must not exist. If doc is nil, store deletes the
// document. store returns false if the document is in another state.
func (c *Claim) store(ctx context.Context, at *cluster.Version, doc any) (bool, error) {
	op := cluster.Operation{Index: c.facts.names.Facts(), ID: c.id, Doc: doc, At: at}
	is := c.facts.cluster.Bulk(ctx, []cluster.Operation{op}, cluster.RefreshNone)[0]
	return is.Err == nil && !is.Conflict, is.Err
}
