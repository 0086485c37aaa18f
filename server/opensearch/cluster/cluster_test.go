package cluster

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// transportFunc is a transport that calls the function.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answered returns a response with a JSON body.
func answered(r *http.Request, body string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// requests returns a cluster that can send requests.
func requests(t *testing.T, o Options) *Client {
	t.Helper()
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Logger = slog.New(slog.DiscardHandler)
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestSilentNode checks a request to a node that accepts the request but does not respond. The request must be sent to another node. If
// there is no other node, the request must fail after a limited time.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	reading := func(ctx context.Context, c *Client) error {
		ctx, cancel := Limited(ctx, 6*time.Second)
		defer cancel()
		return c.Do(ctx, http.MethodPost, "/index/_search", nil, nil)
	}
	writing := func(ctx context.Context, c *Client) error {
		return FirstError(c.Bulk(ctx, []Operation{{Index: "index", ID: "1", Doc: object{}}}, RefreshNone))
	}
	urls := []string{"http://127.0.0.1:1", "http://127.0.0.1:2"}
	for name, test := range map[string]struct {
		urls   []string
		call   func(context.Context, *Client) error
		silent int // number of nodes that do not respond
		took   time.Duration
	}{
		"a read, one node":                  {urls[:1], reading, 1, 6 * time.Second},
		"a read, one node of two is silent": {urls, reading, 1, 3 * time.Second},
		"a read, both nodes are silent":     {urls, reading, 2, 6 * time.Second},
		"a write, one node":                 {urls[:1], writing, 1, WriteAttempt},
		"a write, one of two is silent":     {urls, writing, 1, WriteAttempt},
		"a write, both nodes are silent":    {urls, writing, 2, 2 * WriteAttempt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked := map[string]bool{}
				transport := transportFunc(func(r *http.Request) (*http.Response, error) {
					if r.Method != http.MethodPost {
						return answered(r, `{}`), nil // this request is a check of the client
					}
					if asked[r.URL.Host] = true; len(asked) > test.silent {
						return answered(r, `{"items":[{"create":{"_seq_no":0,"_primary_term":1,"status":201}}]}`), nil
					}
					<-r.Context().Done()
					return nil, r.Context().Err()
				})
				c := requests(t, Options{URLs: test.urls, Transport: transport})
				start := time.Now()
				err := test.call(t.Context(), c)
				if took := time.Since(start); took != test.took {
					t.Errorf("%v after %s, want %s", err, took, test.took)
				}
				if responds := len(test.urls) > test.silent; responds && err != nil || !responds && !errors.Is(err, library.ErrUnavailable) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestBulkTimeout checks that the timeout limits the total time of all attempts of a bulk request.
func TestBulkTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		transport := transportFunc(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/_bulk") {
				return answered(r, `{}`), nil // this request is a check of the client
			}
			if sent++; sent == 1 {
				<-time.After(9 * time.Second)
				return answered(r, `{"items":[{"create":{"status":429,"error":{"type":"rejected_execution_exception"}}}]}`), nil
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		const timeout = 10 * time.Second
		c := requests(t, Options{URLs: []string{"http://127.0.0.1:1"}, Timeout: timeout, Transport: transport})
		start := time.Now()
		is := c.Bulk(t.Context(), []Operation{{Index: "index", ID: "1", Doc: object{}}}, RefreshNone)[0]
		if took := time.Since(start); took != timeout || !errors.Is(is.Err, library.ErrUnavailable) || sent != 2 {
			t.Errorf("%v after %s and %d requests, want ErrUnavailable after %s", is.Err, took, sent, timeout)
		}
	})
}

// TestReconnectTimeout checks that a request to an unreachable cluster fails with the reason. The request must begin no attempt later
// than Reconnect after the first attempt. It must not give up earlier than one pause before that time.
func TestReconnectTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("the connection is lost")
		transport := transportFunc(func(*http.Request) (*http.Response, error) { return nil, lost })
		c := requests(t, Options{URLs: []string{"http://127.0.0.1:1"}, Transport: transport})
		start := time.Now()
		err := c.Do(t.Context(), http.MethodGet, "/", nil, nil)
		if took := time.Since(start); took > Reconnect || took < Reconnect-longestPause || !errors.Is(err, lost) || !errors.Is(err, library.ErrUnavailable) {
			t.Errorf("%v after %s, want ErrUnavailable with the reason after %s to %s", err, took, Reconnect-longestPause, Reconnect)
		}
	})
}
