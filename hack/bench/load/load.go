// Package load sends requests over persistent connections: each client sends the next request as soon as it has received a response. The
// package measures the latencies in the client and the processor time of the server.
//
// It may import only the standard library.
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

// Request is one request. It is never modified, so it can be sent many times.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
}

// Client sends requests over persistent connections. It requests compression only if a Request has the header for it.
type Client struct{ transport *http.Transport }

// NewClient returns a client that keeps the given number of idle connections to each server.
func NewClient(connections int) *Client {
	return &Client{&http.Transport{
		MaxIdleConnsPerHost: connections, MaxIdleConns: 0, DisableCompression: true,
		ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
	}}
}

// Close closes the idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// StatusError is a response with an unexpected status.
type StatusError struct {
	Method string
	Path   string // without the query, which contains the token
	Status int
	Body   string // the first part of the body
}

// Error describes the request and the response.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s returned %d: %s", e.Method, e.Path, e.Status, e.Body)
}

// Do sends one request and returns the response with its whole body. It returns a *StatusError if the status is not want. If want is 0, Do
// accepts any status below 300.
func (c *Client) Do(ctx context.Context, r Request, want int) (http.Header, []byte, error) {
	var body bytes.Buffer
	header, err := c.exchange(ctx, r, want, &body)
	return header, body.Bytes(), err
}

// exchange is Do with a buffer for the body.
func (c *Client) exchange(ctx context.Context, r Request, want int, body *bytes.Buffer) (http.Header, error) {
	resp, err := c.transport.RoundTrip(request(ctx, r))
	if err != nil {
		return nil, fmt.Errorf("send a request to %s: %w", r.URL.Host, err)
	}
	defer resp.Body.Close()
	body.Reset()
	if _, err := body.ReadFrom(resp.Body); err != nil {
		return nil, fmt.Errorf("read the response to %s: %w", r.URL.Path, err)
	}
	if want == 0 && resp.StatusCode >= 300 || want != 0 && resp.StatusCode != want {
		return nil, &StatusError{r.Method, r.URL.Path, resp.StatusCode, string(body.Bytes()[:min(body.Len(), 300)])}
	}
	return resp.Header, nil
}

// request returns an http.Request without parsing the URL again.
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
	// Clients is the number of concurrent requests.
	Clients int
	// Requests are sent in this order.
	Requests []Request
	// Want is the expected status; 0 means any status below 300. Any other status ends the round with an error.
	Want int
	// CPU returns the total processor time of the server. If it is nil, processor time is not measured.
	CPU func() (time.Duration, error)
	// Check is called concurrently with the index of a request and the body of its response. If Check is nil, bodies are not checked. Check
	// must not retain the body. An error of Check ends the round. Check slows down the client, so set it only for requests for which the
	// server needs much more time than Check.
	Check func(i int, body []byte) error
}

// Result is the result of a round.
type Result struct {
	Requests int
	// Bytes is the total length of all bodies.
	Bytes int64
	// Elapsed is the time from the first request to the end of the last response.
	Elapsed time.Duration
	// CPU is the processor time of the server during the round. After is the processor time of the server for background work after the
	// round, or 0 if it was not measured.
	CPU, After time.Duration
	// Latencies contains, for each request, the time from the start of the request to the last byte of the response.
	Latencies []time.Duration
}

// Run runs one round.
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

// once sends the i-th request of a plan and reads the response into a buffer.
func (c *Client) once(ctx context.Context, p Plan, i int, buffer *bytes.Buffer) error {
	_, err := c.exchange(ctx, p.Requests[i], p.Want, buffer)
	if err == nil && p.Check != nil {
		if err = p.Check(i, buffer.Bytes()); err != nil {
			return fmt.Errorf("%s: %w", p.Requests[i].URL.Path, err)
		}
	}
	return err
}

// Quantile returns the q-th quantile (0 to 1) of durations, or 0 if there are none. It does not modify them.
func Quantile(durations []time.Duration, q float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Clone(durations)
	slices.Sort(sorted)
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
