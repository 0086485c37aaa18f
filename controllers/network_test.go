package controllers_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// network is the operator's connection to the API server. A test can cut it. It records the writes.
type network struct {
	mu     sync.Mutex
	down   bool
	other  bool // another cluster answers
	conns  map[*conn]bool
	writes []string
	// held, if not nil, is a channel that blocks requests until it is closed. late is the number of requests that are blocked now.
	held chan struct{}
	late int
	// lossy, if not nil, is a channel that is closed when the network no longer loses packets.
	lossy chan struct{}
	// watches is the number of open watches by resource.
	watches map[string]int
}

func newNetwork() *network { return &network{conns: map[*conn]bool{}, watches: map[string]int{}} }

// config returns a configuration that sends requests through n.
func (n *network) config(base *rest.Config) *rest.Config {
	c := rest.CopyConfig(base)
	c.Dial = n.dial
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &recorder{network: n, next: next} })
	return c
}

func (n *network) dial(ctx context.Context, protocol, address string) (net.Conn, error) {
	n.mu.Lock()
	down, lossy := n.down, n.lossy
	n.mu.Unlock()
	if down {
		return nil, errors.New("the network is cut")
	}
	if lossy != nil {
		select {
		case <-lossy:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second): // as cluster.dialTimeout
			return nil, os.ErrDeadlineExceeded
		}
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
	connected := &conn{Conn: c, closed: make(chan struct{})}
	n.conns[connected] = true
	return connected, nil
}

// conn is a connection of the operator.
type conn struct {
	net.Conn
	// lost is true if the network loses all packets of the connection.
	lost   atomic.Bool
	once   sync.Once
	closed chan struct{}
}

// Read waits until the connection is closed if the network loses the packets.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lost.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

// Write sends nothing if the network loses the packets.
func (c *conn) Write(p []byte) (int, error) {
	if c.lost.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// lose loses all packets until the returned function is called. Present connections never work again, but report no error.
func (n *network) lose() (heal func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	lossy := make(chan struct{})
	n.lossy = lossy
	for c := range n.conns {
		c.lost.Store(true)
	}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.lossy = nil
		close(lossy)
	}
}

// watched returns the resources that the operator watches now.
func (n *network) watched() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.watches))
}

// watch counts a watch of a resource, and stops to count it when its body ends.
func (n *network) watch(resource string, body io.ReadCloser) io.ReadCloser {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watches[resource]++
	return &watchBody{ReadCloser: body, ended: sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.watches[resource]--; n.watches[resource] == 0 {
			delete(n.watches, resource)
		}
	})}
}

// watchBody is the body of the response to a watch.
type watchBody struct {
	io.ReadCloser
	ended func()
}

func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended()
	}
	return n, err
}

func (b *watchBody) Close() error {
	b.ended()
	return b.ReadCloser.Close()
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
	resp, err := r.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusOK && req.URL.Query().Get("watch") != "" {
		resp.Body = r.watch(path.Base(req.URL.Path), resp.Body)
	}
	return resp, err
}
