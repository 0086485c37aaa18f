package opensearch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// claim is a document in the facts index that decides which replica does a task. The holder of the claim renews it. Another replica takes
// over the claim after it has seen the same state of the document for the duration `expire`. Replicas never compare their clocks.
type claim struct {
	facts *facts
	// id is the id of the document.
	id string
	// renew is the time between two renewals. A claim that is not renewed for the duration `expire` is void.
	renew, expire time.Duration
	// seen is the last state of the document that this replica has seen. since is the time at which it first saw that state.
	seen  version
	since time.Time
}

func (f *facts) newClaim(id string, renew, expire time.Duration) *claim {
	return &claim{facts: f, id: id, renew: renew, expire: expire}
}

// take takes the claim and renews it until the caller calls release. The returned context ends when the claim is lost. If another replica
// holds the claim, release is nil.
func (c *claim) take(ctx context.Context) (held context.Context, release func(), err error) {
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		if at, token, err := c.read(ctx); err == nil && token == mine.Token {
			_, _ = c.store(ctx, at, nil)
		}
	}, nil
}

// keep renews the claim until ctx ends, or until another replica has taken it.
func (c *claim) keep(ctx context.Context, mine fact, lose context.CancelCauseFunc) {
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
func (c *claim) read(ctx context.Context) (at *version, token string, err error) {
	var found gotDocument[fact]
	err = c.facts.cluster.do(ctx, http.MethodGet, "/"+c.facts.names.facts()+"/_doc/"+c.id, nil, &found)
	if isAbsent(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the claim %s: %w", c.id, err)
	}
	return &found.version, found.Source.Token, nil
}

// store replaces the state `at` of the document with doc. If at is nil, the document must not exist. If doc is nil, store deletes the
// document. store returns false if the document is in another state.
func (c *claim) store(ctx context.Context, at *version, doc any) (bool, error) {
	op := operation{index: c.facts.names.facts(), id: c.id, doc: doc, at: at}
	is := c.facts.cluster.bulk(ctx, []operation{op}, refreshNone)[0]
	return is.err == nil && !is.conflict, is.err
}
