// Package load sends requests over persistent connections: each client sends the next request as soon as it has received a response. wrk
// sends the pages (see Wrk). Run sends the other requests, because they have bodies and their responses are checked, which takes wrk much
// processor time in Lua. vegeta was refused for them, because it cannot send a list of requests exactly once as fast as a server responds.
//
// It may import the standard library and golang.org/x/sync.
package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// Request is one request. It is never modified, so it can be sent many times.
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
}

// client requests compression only if a Request has the header for it.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true, ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10}}

// Response is a response with its whole body.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Send sends one request.
func Send(ctx context.Context, r Request) (Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return Response{}, err
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	resp, err := client.Do(req)
	if err != nil {
		return Response{}, err
	}
	body, err := io.ReadAll(resp.Body)
	return Response{resp.StatusCode, resp.Header, body}, errors.Join(err, resp.Body.Close())
}

// expect is like Send. A response with another status than want is an error; 0 stands for any status below 300.
func expect(ctx context.Context, r Request, want int) (Response, error) {
	resp, err := Send(ctx, r)
	if err == nil && (want == 0 && resp.Status >= 300 || want != 0 && resp.Status != want) {
		path, _, _ := strings.Cut(r.URL, "?") // the query contains the token
		err = fmt.Errorf("%s %s returned %d: %s", r.Method, path, resp.Status, resp.Body[:min(len(resp.Body), 300)])
	}
	return resp, err
}

// Do sends one request, and returns the headers and the body of the response. It fails if the status is not want; 0 stands for any status
// below 300.
func Do(tb testing.TB, r Request, want int) (http.Header, []byte) {
	tb.Helper()
	resp, err := expect(context.Background(), r, want)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.Header, resp.Body
}

// Result is the result of a round.
type Result struct {
	Requests int
	// Elapsed is the time from the first request to the end of the last response.
	Elapsed time.Duration
	// CPU is the processor time of the server during the round. After is its processor time for background work after the round.
	CPU, After time.Duration
	// Resident is how much the resident memory of the server grew, in bytes.
	Resident int64
	// Latencies contains, for each request, the time from the start of the request to the last byte of the response. Quantiles contains the
	// quantiles 0.5, 0.95 and 0.99 of the latencies. Both are empty if single requests were not timed.
	Latencies, Quantiles []time.Duration
}

// Report reports the metrics of the round. Zeros are not reported.
func (r Result) Report(b *testing.B) {
	b.Helper()
	per := func(d time.Duration) float64 { return float64(d) / float64(r.Requests) }
	metrics := map[string]float64{"ns/op": per(r.Elapsed), "cpu-ns/op": per(r.CPU), "after-ns/op": per(r.After), "resident-B": float64(r.Resident)}
	for i, q := range r.Quantiles {
		metrics[[]string{"p50-ns", "p95-ns", "p99-ns"}[i]] = float64(q)
	}
	for unit, v := range metrics {
		if v > 0 {
			b.ReportMetric(v, unit)
		}
	}
}

// Run sends requests in this order over the given number of connections. It fails if a response does not have the status want, or if
// check returns an error. check is called concurrently with the index of a request and the body of its response; nil checks nothing.
func Run(tb testing.TB, clients int, requests []Request, want int, check func(i int, body []byte) error) Result {
	tb.Helper()
	res := Result{Requests: len(requests), Latencies: make([]time.Duration, len(requests))}
	var next atomic.Int64
	group, ctx := errgroup.WithContext(context.Background())
	began := time.Now()
	for range clients {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(requests) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				sent := time.Now()
				resp, err := expect(ctx, requests[i], want)
				res.Latencies[i] = time.Since(sent)
				if err == nil && check != nil {
					err = check(i, resp.Body)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		tb.Fatal(err)
	}
	res.Elapsed = time.Since(began)
	res.Quantiles = Quantiles(res.Latencies)
	return res
}

// Quantiles returns the quantiles 0.5, 0.95 and 0.99 of latencies. It does not modify them.
func Quantiles(latencies []time.Duration) []time.Duration {
	if len(latencies) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(latencies))
	at := func(q float64) time.Duration { return sorted[int(q*float64(len(sorted)))] }
	return []time.Duration{at(0.5), at(0.95), at(0.99)}
}
