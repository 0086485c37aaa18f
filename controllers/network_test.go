package controllers_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// network is the operator's connection to the API server. A test can cut it. It records the writes.
type network struct {
	mu     sync.Mutex
	down   bool
	other  bool // another cluster answers
	conns  map[net.Conn]bool
	writes []string
	// held, if not nil, is a channel that blocks requests until it is closed. late is the number of requests that are blocked now.
	held chan struct{}
	late int
}

func newNetwork() *network { return &network{conns: map[net.Conn]bool{}} }

// config returns a configuration that sends requests through n.
func (n *network) config(base *rest.Config) *rest.Config {
	c := rest.CopyConfig(base)
	c.Dial = n.dial
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &recorder{network: n, next: next} })
	return c
}

func (n *network) dial(ctx context.Context, protocol, address string) (net.Conn, error) {
	n.mu.Lock()
	down := n.down
	n.mu.Unlock()
	if down {
		return nil, errors.New("the network is cut")
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, protocol, address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		c.Close()
		return nil, errors.New("the network is cut")
	}
	n.conns[c] = true
	return c, nil
}

// cut ends all connections and refuses new ones until restore is called.
func (n *network) cut() {
	n.mu.Lock()
	n.down = true
	n.mu.Unlock()
	n.reset()
}

// reset ends all connections and accepts new ones.
func (n *network) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		c.Close()
	}
	clear(n.conns)
}

// restore accepts connections again.
func (n *network) restore() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
}

// swap(true) changes the answer to requests for the identity of the cluster to that of another cluster, until swap(false) is called.
func (n *network) swap(other bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.other = other
}

// hold blocks every request until the returned function is called, as if the server were overloaded.
func (n *network) hold() (release func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held := make(chan struct{})
	n.held = held
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.held = nil
		close(held)
	}
}

// waiting returns the number of blocked requests.
func (n *network) waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.late
}

// pass blocks until req may continue.
func (n *network) pass(req *http.Request) error {
	n.mu.Lock()
	held := n.held
	if held == nil {
		n.mu.Unlock()
		return nil
	}
	n.late++
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.late--
	}()
	select {
	case <-held:
		return nil
	case <-req.Context().Done():
		return req.Context().Err()
	}
}

// used reports whether there is an open connection.
func (n *network) used() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns) > 0
}

// written returns the writes so far, in the format "PATCH /apis/…".
func (n *network) written() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.writes)
}

type recorder struct {
	*network
	next http.RoundTripper
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := r.pass(req); err != nil {
		return nil, err
	}
	if req.Method != http.MethodGet && !strings.HasPrefix(req.URL.Path, "/apis/authorization") {
		r.mu.Lock()
		r.writes = append(r.writes, req.Method+" "+req.URL.Path)
		r.mu.Unlock()
	}
	r.mu.Lock()
	other := r.other
	r.mu.Unlock()
	if other && req.URL.Path == "/api/v1/namespaces/kube-system" {
		body := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":"another-cluster"}}`
		return &http.Response{
			StatusCode: http.StatusOK, Request: req, Body: io.NopCloser(strings.NewReader(body)),
			Header: http.Header{"Content-Type": {"application/json"}},
		}, nil
	}
	return r.next.RoundTrip(req)
}
