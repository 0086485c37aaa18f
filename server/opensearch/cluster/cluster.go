// Package cluster sends requests to an OpenSearch cluster: with the credentials from files, within limits of time, and again if they may
// succeed soon. A request names what it relies on in its response (see Answer), and fails if the response lacks a part of it. The package
// knows nothing about the documents.
//
// The package may import flight, library, query and item.
package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	opensearchgo "github.com/opensearch-project/opensearch-go/v4"

	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Client sends requests to OpenSearch. Within limits, it retries requests that may succeed soon.
type Client struct {
	client *opensearchgo.Client
	// nodes is the number of configured addresses.
	nodes int
	// timeout limits a request including all of its attempts. attempt limits each attempt.
	timeout, attempt time.Duration
	// Failing reports whether the cluster is known not to respond.
	Failing func() bool
}

// New returns a Client that is not connected yet. Its errors name the file that cannot be read. The caller must call Close.
func New(o Options) (*Client, error) {
	over, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	client, err := opensearchgo.NewClient(opensearchgo.Config{
		Addresses: o.URLs, Transport: over,
		// This package retries requests itself, because it knows which responses allow another attempt.
		DisableRetry: true,
	})
	if err != nil {
		return nil, fmt.Errorf("open the library on OpenSearch: %w", err)
	}
	return &Client{client: client, nodes: len(o.URLs), timeout: o.Timeout, attempt: o.Timeout, Failing: func() bool { return false }}, nil
}

// Patient returns a Client for requests that take up to d. It sends each request to only one node.
func (c *Client) Patient(d time.Duration) *Client {
	p := *c
	p.nodes, p.timeout, p.attempt = 1, d, d
	return &p
}

// These are the minimum and the maximum pause between two attempts.
const (
	ShortestPause = 20 * time.Millisecond
	longestPause  = 2 * time.Second
)

// Reconnect is the time for which a request is retried while the cluster is unreachable or has no node for the request. It is long enough
// for the cluster to elect another node. It is short enough that the callers of a stopped cluster do not accumulate.
const Reconnect = 3 * time.Second

// leastAttempt is the minimum time that a node has to respond before the request is sent to another node.
const leastAttempt = 3 * time.Second

// ReleaseTimeout limits a request that releases something at the end of a task, because the end of the task waits for it. What is not
// released expires.
const ReleaseTimeout = time.Second

// Do sends a request and decodes the response into out. If nothing relies on the response, out is nil. body is nil, []byte, or a value to
// encode as JSON. While the cluster rejects the request for lack of capacity, Do retries until ctx ends or the timeout passes. While the
// cluster is unreachable or its responses are incomplete, Do begins no attempt later than Reconnect after the first attempt. If a node
// accepts the request but does not respond in time (see patience), Do sends the request to one other node, if there is one. The request
// must therefore be safe to send twice. If ctx ends before any attempt has failed, the error is the cause of ctx, and also
// library.ErrUnavailable if the cluster is known not to respond.
func (c *Client) Do(ctx context.Context, method, path string, body any, out Answer) error {
	encoded, isBytes := body.([]byte)
	if body != nil && !isBytes {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode a request for OpenSearch: %w", err)
		}
	}
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	start := time.Now()
	blank := blankOf(out)
	var before error
	elsewhere := c.nodes > 1
	for pause := ShortestPause; ; pause = min(2*pause, longestPause) {
		attempt, end := Limited(within, c.patience(within, elsewhere))
		blank.restore()
		err := c.once(attempt, method, path, encoded, out)
		silent := attempt.Err() != nil
		end()
		switch {
		case err == nil || !passes(err):
			return err
		case within.Err() != nil && before != nil: // The context cut off this attempt, so the previous error is more informative.
			return before
		case ctx.Err() != nil:
			return c.ended(ctx)
		case silent && within.Err() == nil:
			if err = context.Cause(attempt); !elsewhere {
				return err
			}
			elsewhere, before = false, err
			continue
		}
		before = err
		if time.Since(start)+pause > Reconnect && !hasStatus(err, http.StatusTooManyRequests) || !Wait(within, pause) {
			return err
		}
	}
}

// patience returns the time that an attempt may take. `elsewhere` is true if another node can be tried after the attempt.
func (c *Client) patience(within context.Context, elsewhere bool) time.Duration {
	deadline, _ := within.Deadline()
	if !elsewhere {
		return c.attempt
	}
	return min(c.attempt, max(time.Until(deadline)/2, leastAttempt))
}

// ended returns the error of a request that got no response before ctx ended.
func (c *Client) ended(ctx context.Context) error {
	err := context.Cause(ctx)
	if c.Failing() && !errors.Is(err, library.ErrUnavailable) {
		return &unreachableError{err}
	}
	return err
}

// Bounded returns a context that ends when ctx ends or when the timeout of a request has passed.
func (c *Client) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return Limited(ctx, c.timeout)
}

// errBusy is the cause of a wait for a lock that took too long.
var errBusy = &unreachableError{errors.New("other changes of this replica wait for it")}

// Lock waits for a lock whose holder sends requests to the cluster, for at most the timeout of a request. If ctx ends first, Lock returns
// the cause of ctx.
func (c *Client) Lock(ctx context.Context, m *flight.Mutex) (unlock func(), err error) {
	ctx, cancel := c.Within(ctx, errBusy)
	defer cancel()
	return m.Unlock, m.Lock(ctx)
}

// Within returns a context that ends when ctx ends or, with the given cause, when the timeout of a request has passed.
func (c *Client) Within(ctx context.Context, cause error) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.timeout, cause)
}

// Limited returns a context that ends when ctx ends or after d. After d, the cause of the context is that OpenSearch has not responded.
func Limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, &unreachableError{fmt.Errorf("no response within %s", d)})
}

// once makes one attempt of a request. It is the only place that decides whether a response is one.
func (c *Client) once(ctx context.Context, method, path string, body []byte, out Answer) error {
	req, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("create a request for OpenSearch: %w", err)
	}
	if len(body) > 0 {
		// The bulk API also accepts this type for its lines.
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.client.Stream(req)
	if err != nil {
		return &unreachableError{err}
	}
	defer res.Body.Close()
	data := bytes.NewBuffer(make([]byte, 0, max(res.ContentLength+bytes.MinRead, bytes.MinRead)))
	if _, err := data.ReadFrom(res.Body); err != nil {
		return &unreachableError{err}
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return newResponseError(res.StatusCode, res.Header, data.Bytes())
	}
	if out == nil {
		return nil
	}
	incomplete := &incompleteError{request: method + " " + path}
	if err := decode(res.Header, data.Bytes(), out); err != nil {
		incomplete.lacks = "it cannot be decoded"
		return incomplete
	}
	if incomplete.lacks = out.Lacks(); incomplete.lacks != "" {
		return incomplete
	}
	return nil
}

// Wait pauses for a random time from d/2 to d. It returns false if ctx ends first.
func Wait(ctx context.Context, d time.Duration) bool { return Sleep(ctx, d/2+rand.N(d/2)) }

// Sleep pauses for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Close stops the background work of the client and closes its idle connections.
func (c *Client) Close() error {
	if err := c.client.Close(); err != nil {
		return fmt.Errorf("close the connections to OpenSearch: %w", err)
	}
	return nil
}
