package httpapi

import (
	"context"
	"net"
	"sync"
)

// JoinWrites returns a listener for plain HTTP that sends long responses with fewer system calls. net/http writes the header and the first
// part of a body from a buffer of 4 KiB, and the rest of the body directly. For a page of 115 KB, the first of these two system calls takes
// more than a third of the time of both. The connections of the listener send both parts with one call. The server of the listener must set
// ConnContext to the function JoinContext.
func JoinWrites(l net.Listener) net.Listener { return joiningListener{l} }

// JoinContext makes the connection of a request available to its handler. It is meant for http.Server.ConnContext.
func JoinContext(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*joiningConn); ok {
		return context.WithValue(ctx, joiningKey{}, c)
	}
	return ctx
}

type joiningKey struct{}

type joiningListener struct{ net.Listener }

func (l joiningListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		return &joiningConn{TCPConn: tcp}, err
	}
	return c, err
}

// joiningConn is a connection that can hold back a short write and send it together with the next one.
type joiningConn struct {
	*net.TCPConn
	// held is not nil between hold and release. It contains the bytes that have not been sent yet.
	held *[]byte
}

// mostHeld is the maximum number of bytes that a connection holds back. It is more than the length of net/http's buffer.
const mostHeld = 8 << 10

var heldPool = sync.Pool{New: func() any { b := make([]byte, 0, mostHeld); return &b }}

// hold starts to hold back short writes. Call release after the last write of the response. Until then, only one goroutine may write.
func (c *joiningConn) hold() { c.held = heldPool.Get().(*[]byte) }

// release sends the bytes that are still held back.
func (c *joiningConn) release() error {
	held := c.held
	c.held = nil
	defer func() { *held = (*held)[:0]; heldPool.Put(held) }()
	if len(*held) == 0 {
		return nil
	}
	_, err := c.TCPConn.Write(*held)
	if err != nil {
		// net/http does not see this error. Close the connection, so that no response follows an incomplete one.
		_ = c.Close()
	}
	return err //nolint:wrapcheck // callers expect the errors of a connection
}

// Write implements net.Conn.
func (c *joiningConn) Write(p []byte) (int, error) {
	if c.held == nil {
		return c.TCPConn.Write(p) //nolint:wrapcheck // see release
	}
	before := len(*c.held)
	if before+len(p) <= mostHeld {
		*c.held = append(*c.held, p...)
		return len(p), nil
	}
	both := net.Buffers{*c.held, p}
	n, err := both.WriteTo(c.TCPConn)
	*c.held = (*c.held)[:0]
	return max(0, int(n)-before), err //nolint:wrapcheck // see release
}

// writeBody sends a complete body.
func (x *exchange) writeBody(body []byte) {
	// With HTTP/2, several goroutines would write to the connection.
	if c, ok := x.r.Context().Value(joiningKey{}).(*joiningConn); ok && x.r.ProtoMajor == 1 && len(body) > mostHeld {
		c.hold()
		defer func() {
			if err := c.release(); err != nil && x.lost == nil {
				x.lost = err
			}
		}()
	}
	// An error means that the caller has disconnected.
	_, _ = x.Write(body)
}
