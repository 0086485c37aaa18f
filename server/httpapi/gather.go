package httpapi

import (
	"context"
	"net"
)

// GatherWrites returns a listener whose connections can send the head of an answer and its body by one call to the system.
// net/http sends the first 4 KiB of an answer by themselves: for a page of 50 items that is one more call, and one more time
// that the receiver is woken. Only plain TCP is gathered; what TLS writes passes as it is.
func GatherWrites(l net.Listener) net.Listener { return gatheringListener{l} }

type gatheringListener struct{ net.Listener }

func (l gatheringListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		return &gatheringConn{TCPConn: tcp}, nil
	}
	return c, err
}

// connKey finds the connection in the context of its requests.
type connKey struct{}

// ConnContext is for http.Server.ConnContext: by it answers find the connections of GatherWrites. Without it nothing is
// gathered.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if g, ok := c.(*gatheringConn); ok {
		return context.WithValue(ctx, connKey{}, g)
	}
	return ctx
}

// gatheringConn is a connection that holds back short writes while it is told that more follows at once. As with any
// connection of net/http, one goroutine writes at a time, and it is the one that tells.
type gatheringConn struct {
	*net.TCPConn
	gathering bool
	held      []byte
}

// maxHeld is the longest write that is held back: the buffer of net/http has as much.
const maxHeld = 4 << 10

// Write implements net.Conn. What is held back counts as written; should that fail later, the next write says so, or flush.
func (c *gatheringConn) Write(b []byte) (int, error) {
	if !c.gathering {
		return c.TCPConn.Write(b)
	}
	if len(b)+len(c.held) <= maxHeld {
		c.held = append(c.held, b...)
		return len(b), nil
	}
	before := len(c.held)
	both := net.Buffers{c.held, b}
	n, err := both.WriteTo(c.TCPConn)
	c.held = c.held[:0]
	return max(int(n)-before, 0), err
}

// flush writes what is held back, and holds nothing back from now on.
func (c *gatheringConn) flush() error {
	c.gathering = false
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.TCPConn.Write(c.held)
	c.held = c.held[:0]
	return err
}

// writeWhole writes a body that is the whole of the answer.
func (x *exchange) writeWhole(body []byte) error {
	c, _ := x.r.Context().Value(connKey{}).(*gatheringConn)
	if c == nil || len(body) <= maxHeld {
		_, err := x.Write(body)
		return err
	}
	c.gathering = true
	_, err := x.Write(body)
	if failed := c.flush(); err == nil {
		err = failed
	}
	return err
}
