package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
)

// allowance holds the remaining requests of one token under its rate limit, and the numbers of its running ad-hoc queries, of its waiting
// requests and of its streams of events.
type allowance struct {
	mu      sync.Mutex
	limiter *rate.Limiter
	queries int
	waits   int
	streams int
	// turn is locked by the search of a request that waits for changes.
	turn flight.Mutex
	// sending is the number of bytes of this token's pages that are being built and sent.
	sending atomic.Int64
}

// take takes one request from the token's rate limit, which the property sets. It sets the headers RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers). The error is a *problem with a Retry-After.
//
// The limit is a token bucket that holds burst requests and refills at the given rate. In the terms of the draft, q is the quota (burst
// requests), w is the window (the number of seconds in which an empty bucket fills), r is the number of remaining requests, and t is the
// number of seconds until the bucket is full.
func (a *allowance) take(now time.Time, p library.Property, h http.Header) error {
	if p.RatePerSecond <= 0 {
		return nil
	}
	limit, burst := rate.Limit(p.RatePerSecond), p.Burst
	if burst < 1 {
		burst = max(1, int(math.Ceil(p.RatePerSecond)))
	}
	a.mu.Lock()
	switch {
	case a.limiter == nil:
		a.limiter = rate.NewLimiter(limit, burst)
	case a.limiter.Limit() != limit || a.limiter.Burst() != burst:
		// The limit of the property changed. Keep the remaining requests.
		a.limiter.SetLimitAt(now, limit)
		a.limiter.SetBurstAt(now, burst)
	}
	allowed := a.limiter.AllowN(now, 1)
	left := a.limiter.TokensAt(now)
	a.mu.Unlock()

	h.Set("RateLimit-Policy", fmt.Sprintf(`"token";q=%d;w=%d`, burst, seconds(float64(burst)/p.RatePerSecond)))
	h.Set("RateLimit", fmt.Sprintf(`"token";r=%d;t=%d`, max(0, int(left)), seconds((float64(burst)-left)/p.RatePerSecond)))
	if allowed {
		return nil
	}
	wait := max(1, seconds((1-left)/p.RatePerSecond))
	return &problem{
		Type: problems.RateLimited, retryAfter: time.Duration(wait) * time.Second,
		Detail: fmt.Sprintf("this token exceeded its rate limit, which is %g requests per second and %d at once: retry in %d s", p.RatePerSecond, burst, wait),
	}
}

// seconds rounds up to whole seconds, within the range from 0 to the maximum for a header.
func seconds(s float64) int { return int(math.Ceil(min(max(s, 0), math.MaxInt32))) }

// begin takes one of the token's slots for ad-hoc queries. The function done releases the slot.
func (a *allowance) begin(most int) (done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.queries >= most {
		return nil, &problem{
			Type: problems.TooManyQueries, retryAfter: time.Second,
			Detail: fmt.Sprintf("this token already has %d ad-hoc queries running, which is the maximum: wait for one to end, or list the items of a stored filter", most),
		}
	}
	a.queries++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.queries--
	}, nil
}

// hold takes one of the token's slots for requests of one kind that stay open. n is the number of taken slots, and most is their maximum. what
// describes them, and what the caller can do. The function done releases the slot.
func (a *allowance) hold(n *int, most int, what string) (done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if *n >= most {
		return nil, &problem{
			Type: problems.TooManyQueries, retryAfter: time.Second, Detail: fmt.Sprintf("this token already has the maximum of %d %s", most, what),
		}
	}
	*n++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		*n--
	}, nil
}

// errOverBudget is the cause with which the context of an ad-hoc query ends when the query exceeds its time budget.
var errOverBudget = errors.New("the ad-hoc query took longer than its time budget")

// budgeted runs an ad-hoc query with a time budget, within the token's limit of concurrent queries.
func (x *exchange) budgeted(run func(context.Context) error) error {
	done, err := x.grant.allowance.begin(x.server.options.QueriesPerToken)
	if err != nil {
		return err
	}
	defer done()
	return x.timed(run)
}

// inTurn runs an ad-hoc query of a request that waits for changes, with a time budget. One change can end many waits of a token at once, so their
// queries run one by one, and do not count towards the limit of concurrent queries.
func (x *exchange) inTurn(run func(context.Context) error) error {
	a := x.grant.allowance // the token can get another one in the meantime
	if err := a.turn.Lock(x.r.Context()); err != nil {
		return err //nolint:wrapcheck // a lost connection, which fail recognizes
	}
	defer a.turn.Unlock()
	return x.timed(run)
}

// timed runs an ad-hoc query with a time budget.
func (x *exchange) timed(run func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(x.r.Context(), x.server.options.QueryBudget, errOverBudget)
	defer cancel()
	err := run(ctx)
	if errors.Is(err, library.ErrUnavailable) {
		return err // the store did not respond, so the query may be cheap
	}
	if errors.Is(err, errOverBudget) || errors.Is(err, context.DeadlineExceeded) && x.r.Context().Err() == nil {
		return x.tooExpensive()
	}
	return err
}

// tooExpensive returns the problem of a request that exceeded the time budget. It names the parameter that contains the query, if the
// caller sent one.
func (x *exchange) tooExpensive() *problem {
	budget := x.server.options.QueryBudget
	for _, name := range []string{"q", "additional_query"} {
		if text, err := x.optional(name); err == nil && text != "" {
			return &problem{
				Type: problems.QueryTooExpensive, Parameter: name,
				Detail: fmt.Sprintf("the query took longer than %s: narrow it, remove leading wildcards, or store it as a filter", budget),
			}
		}
	}
	return &problem{Type: problems.QueryTooExpensive, Detail: fmt.Sprintf("the request took longer than %s: retry later, or request fewer results", budget)}
}

// reserve reserves memory for items in the response until release is called. size is the name of the parameter that limits the number of
// items. One token gets at most half of the memory, so that callers that receive slowly cannot prevent callers with other tokens from
// reading.
func (x *exchange) reserve(size string, bytes int) error {
	n, all := int64(bytes), x.server.options.PageMemory
	if x.reserved+n > all/2 {
		return &problem{Type: problems.InvalidParameter, Parameter: size, Detail: fmt.Sprintf(
			"the items in this response exceed the limit of %d bytes: use a smaller %q", all/2, size,
		)}
	}
	x.reserved += n
	own, together := x.grant.allowance.sending.Add(n), x.server.sending.Add(n)
	if own > all/2 || together > all {
		return &problem{
			Type: problems.Unavailable, retryAfter: time.Second,
			Detail: fmt.Sprintf("responses that the server is still sending use up its memory for pages: receive responses faster, or use a smaller %q", size),
		}
	}
	return nil
}

// release releases the memory that reserve reserved. If reserve was not called, as for a page from the cache, release does not touch the
// shared counters.
func (x *exchange) release() {
	if x.reserved == 0 {
		return
	}
	x.grant.allowance.sending.Add(-x.reserved)
	x.server.sending.Add(-x.reserved)
	x.reserved = 0
}
