package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	opensearchgo "github.com/opensearch-project/opensearch-go/v4"
)

// cluster sends requests to OpenSearch. It retries requests that may succeed soon, within bounds.
type cluster struct {
	client  *opensearchgo.Client
	timeout time.Duration
}

// object is a JSON object of a request.
type object = map[string]any

func newCluster(o Options) (*cluster, error) {
	over, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	client, err := opensearchgo.NewClient(opensearchgo.Config{
		Addresses: o.URLs, Transport: over,
		// Retries are this package's: it knows which answers mean that a request may be sent again.
		DisableRetry: true,
	})
	if err != nil {
		return nil, fmt.Errorf("open the library on OpenSearch: %w", err)
	}
	return &cluster{client: client, timeout: o.Timeout}, nil
}

// Bounds of the pause between two attempts.
const (
	shortestPause = 20 * time.Millisecond
	longestPause  = 2 * time.Second
)

// reconnect is how long a request is tried again while the cluster cannot be reached or has no node for it: as long as the
// election of another one takes, and short enough that the callers of a cluster that is down do not pile up.
const reconnect = 3 * time.Second

// do sends a request and decodes the answer into out, which may be nil. body is nil, []byte, or encoded as JSON. It tries
// again while the cluster refuses for lack of capacity, until the context ends or the timeout passes, and for a time while
// the cluster cannot be reached. The request must be one that may be sent twice. When the context ends before any
// attempt has failed, the error is its cause.
func (c *cluster) do(ctx context.Context, method, path string, body, out any) error {
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
	var before error
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		err := c.once(within, method, path, encoded, out)
		switch {
		case err == nil || !passes(err):
			return err
		case within.Err() != nil && before != nil: // it was cut off: the attempt before says more
			return before
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		before = err
		if time.Since(start) > reconnect && !hasStatus(err, http.StatusTooManyRequests) || !wait(within, pause) {
			return err
		}
	}
}

// once sends a request once.
func (c *cluster) once(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request for OpenSearch: %w", err)
	}
	if len(body) > 0 {
		// The bulk interface takes this for its lines as well.
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.client.Stream(req)
	if err != nil {
		return &unreachableError{err}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return &unreachableError{err}
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return newResponseError(res.StatusCode, data)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("read the answer of OpenSearch to %s %s: %w", method, path, err)
	}
	return nil
}

// wait pauses for about d, and reports false when the context ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// close ends the background work of the client.
func (c *cluster) close() error {
	if err := c.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close the connections to OpenSearch: %w", err)
	}
	return nil
}
