// Package load sends requests over kept-alive connections as fast as they are answered, and measures both ends: what the
// client waits for, and what the server spends.
//
// It may import the standard library alone.
package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Request is one request. It is only read, so that one may be sent many times.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
}

// Client keeps its connections to all servers. It asks for no compression of its own accord.
type Client struct{ transport *http.Transport }

// NewClient returns a client that keeps as many idle connections to each server.
func NewClient(connections int) *Client {
	return &Client{&http.Transport{
		MaxIdleConnsPerHost: connections, MaxIdleConns: 0, DisableCompression: true,
		ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
	}}
}

// Close gives the connections up.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// StatusError is an answer that was not the one wanted.
type StatusError struct {
	Method string
	Path   string // without the query, which holds the token
	Status int
	Body   string // its beginning
}

// Error says what was asked and answered.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s answers %d: %s", e.Method, e.Path, e.Status, e.Body)
}

// Do sends one request and returns the answer with its whole body. Any status but the wanted one is a *StatusError;
// 0 wants any that is below 300.
func (c *Client) Do(ctx context.Context, r Request, want int) (http.Header, []byte, error) {
	var body bytes.Buffer
	header, err := c.exchange(ctx, r, want, &body)
	return header, body.Bytes(), err
}

// exchange is Do with a buffer for the body.
func (c *Client) exchange(ctx context.Context, r Request, want int, body *bytes.Buffer) (http.Header, error) {
	resp, err := c.transport.RoundTrip(request(ctx, r))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", r.URL.Host, err)
	}
	defer resp.Body.Close()
	body.Reset()
	if _, err := body.ReadFrom(resp.Body); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", r.URL.Path, err)
	}
	if want == 0 && resp.StatusCode >= 300 || want != 0 && resp.StatusCode != want {
		return nil, &StatusError{r.Method, r.URL.Path, resp.StatusCode, string(body.Bytes()[:min(body.Len(), 300)])}
	}
	return resp.Header, nil
}

// request makes an http.Request without parsing anything again.
func request(ctx context.Context, r Request) *http.Request {
	h := make(http.Header, len(r.Header))
	for name, values := range r.Header {
		h[name] = values
	}
	req := (&http.Request{
		Method: r.Method, URL: r.URL, Host: r.URL.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if r.Body != nil {
		req.ContentLength = int64(len(r.Body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req
}

// Plan is one round of load.
type Plan struct {
	// Clients is how many requests are under way at any time.
	Clients int
	// Requests are sent in their order.
	Requests []Request
	// Want is the status of every answer; 0 wants any that is below 300. Another one ends the round.
	Want int
	// CPU reads the processor time that the server has spent so far. nil measures none.
	CPU func() (time.Duration, error)
	// Check, if set, sees every body, which it must not keep; an error ends the round. It is called concurrently and costs
	// the client time, so that it is for rounds that are slow anyway.
	Check func(i int, body []byte) error
}

// Result is what a round showed.
type Result struct {
	Requests int
	// Bytes of all bodies.
	Bytes int64
	// Elapsed is from the first request to the end of the last answer.
	Elapsed time.Duration
	// CPU is what the server spent meanwhile, and After what it went on spending, where that was waited for.
	CPU, After time.Duration
	// Latencies by request: from sending it to the last byte of its answer.
	Latencies []time.Duration
}

// Run makes one round.
func (c *Client) Run(ctx context.Context, p Plan) (Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	res := Result{Requests: len(p.Requests), Latencies: make([]time.Duration, len(p.Requests))}
	var next, received atomic.Int64
	cpu := p.CPU
	if cpu == nil {
		cpu = func() (time.Duration, error) { return 0, nil }
	}
	before, err := cpu()
	if err != nil {
		return res, err
	}
	began := time.Now()
	var workers sync.WaitGroup
	for range p.Clients {
		workers.Go(func() {
			buffer := bytes.NewBuffer(make([]byte, 0, 512<<10))
			for {
				i := int(next.Add(1)) - 1
				if i >= len(p.Requests) || ctx.Err() != nil {
					return
				}
				sent := time.Now()
				if err := c.once(ctx, p, i, buffer); err != nil {
					stop(err)
					return
				}
				res.Latencies[i] = time.Since(sent)
				received.Add(int64(buffer.Len()))
			}
		})
	}
	workers.Wait()
	res.Elapsed = time.Since(began)
	if err := context.Cause(ctx); err != nil {
		return res, err
	}
	after, err := cpu()
	res.CPU, res.Bytes = after-before, received.Load()
	return res, err
}

// once sends the i-th request of a plan, and reads the answer into a buffer.
func (c *Client) once(ctx context.Context, p Plan, i int, buffer *bytes.Buffer) error {
	_, err := c.exchange(ctx, p.Requests[i], p.Want, buffer)
	if err == nil && p.Check != nil {
		if err = p.Check(i, buffer.Bytes()); err != nil {
			return fmt.Errorf("%s: %w", p.Requests[i].URL.Path, err)
		}
	}
	return err
}

// Quantile returns the q-th quantile (0 to 1) of durations, 0 of none. It does not change them.
func Quantile(durations []time.Duration, q float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Clone(durations)
	slices.Sort(sorted)
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
