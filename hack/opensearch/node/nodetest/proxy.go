package nodetest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fault is a way in which a Proxy disturbs connections.
type Fault int

// The faults. A change of the fault also affects connections that are already open.
const (
	// None forwards everything.
	None Fault = iota
	// Closed closes all connections and refuses new ones.
	Closed
	// Silent accepts connections and requests, and never responds.
	Silent
	// Trickling passes on one byte of a response every tenth of a second.
	Trickling
	// Slow delays each piece of a response that arrives from the node by a tenth of a second.
	Slow
)

// step is the length of the pauses of Trickling and Slow.
const step = 100 * time.Millisecond

// Proxy forwards connections to a node of OpenSearch and injects faults. It closes at the end of the test that created it.
type Proxy struct {
	// URL is the address of the proxy.
	URL string

	t      testing.TB
	target string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]struct{}
	fault    Fault
	// changed is closed when fault changes.
	changed chan struct{}
	running sync.WaitGroup
}

// NewProxy starts a proxy for the node at a URL. It has no fault at first.
func NewProxy(t testing.TB, node string) *Proxy {
	t.Helper()
	target, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, target: target.Host, open: map[net.Conn]struct{}{}, changed: make(chan struct{})}
	p.listen("127.0.0.1:0")
	p.URL = "http://" + p.listener.Addr().String()
	t.Cleanup(func() {
		p.Inject(Closed)
		p.running.Wait()
	})
	return p
}

// listen starts to accept connections at an address, until the listener is closed.
func (p *Proxy) listen(address string) {
	p.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.listener = l
	p.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(conn) })
		}
	})
}

// Inject replaces the fault.
func (p *Proxy) Inject(f Fault) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == Closed && f != Closed {
		p.listen(strings.TrimPrefix(p.URL, "http://"))
	}
	if p.fault != Closed && f == Closed {
		if err := p.listener.Close(); err != nil {
			p.t.Error(err)
		}
		for conn := range p.open {
			conn.Close()
		}
	}
	p.fault = f
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) current() (Fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault, p.changed
}

// track registers an open connection, or closes it if the proxy is closed.
func (p *Proxy) track(conn net.Conn) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == Closed {
		conn.Close()
	}
	p.open[conn] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, conn)
		conn.Close()
	}
}

// serve forwards one connection.
func (p *Proxy) serve(client net.Conn) {
	defer p.track(client)()
	node, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		return // the node does not accept connections
	}
	defer p.track(node)()
	p.running.Go(func() {
		_, _ = io.Copy(node, client)
		node.Close()
	})
	buffer := make([]byte, 32<<10)
	for {
		n, err := node.Read(buffer)
		if p.respond(client, buffer[:n]) != nil || err != nil {
			return
		}
	}
}

var errClosed = errors.New("the proxy is closed")

// respond sends a piece of a response to the client in the way that the current fault requires.
func (p *Proxy) respond(client io.Writer, part []byte) error {
	for len(part) > 0 {
		fault, changed := p.current()
		n := len(part)
		var pause <-chan time.Time
		switch fault {
		case None:
		case Closed:
			return errClosed
		case Silent:
			<-changed
			continue
		case Trickling:
			n, pause = 1, time.After(step)
		case Slow:
			pause = time.After(step)
		}
		if pause != nil {
			select {
			case <-pause:
			case <-changed:
				continue
			}
		}
		if _, err := client.Write(part[:n]); err != nil {
			return err
		}
		part = part[n:]
	}
	return nil
}
