package cluster

import (
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

// dialTimeout is the time limit for opening a connection. It is short, because the packets of an attempt may be lost, and the next attempt
// is the first that uses a network that works again.
const dialTimeout = time.Second

// keepAlive closes a connection whose peer has disappeared without a message after about ten seconds.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: lookTimeout, Interval: time.Second, Count: 5}

// connections are the open connections to the API server.
type connections = connrotation.Dialer

// impatient removes the header Retry-After from the responses to reads. An API server that starts sends "Retry-After: 5" until it serves
// the CRDs, and client-go would wait inside the request for that time. All callers of reads retry with their own backoff.
type impatient struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t impatient) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil && req.Method == http.MethodGet {
		resp.Header.Del("Retry-After")
	}
	return resp, err
}

// connect returns a copy of cfg whose connections can be closed, and whose reads do not wait inside the client.
func connect(cfg *rest.Config) (*rest.Config, *connections) {
	cfg = rest.CopyConfig(cfg)
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAliveConfig: keepAlive}).DialContext
	}
	conns := connrotation.NewDialer(dial)
	cfg.Dial = conns.DialContext
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return impatient{next} })
	return cfg, conns
}
