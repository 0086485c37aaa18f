package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
)

// pairOf returns the two ends of a connection. The first end comes from a listener of JoinWrites.
func pairOf(t *testing.T) (*joiningConn, net.Conn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := JoinWrites(l).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); peer.Close() })
	return c.(*joiningConn), peer
}

func TestShortWritesAreHeld(t *testing.T) {
	c, peer := pairOf(t)
	var want []byte
	write := func(n int) {
		t.Helper()
		p := bytes.Repeat([]byte{byte('a' + len(want)%26)}, n)
		if got, err := c.Write(p); got != n || err != nil {
			t.Fatalf("%d of %d bytes, error %v", got, n, err)
		}
		want = append(want, p...)
	}
	receive := func(after string) {
		t.Helper()
		got := make([]byte, len(want))
		if err := peer.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s: received %d bytes, want %d, or other bytes; error %v", after, n, len(want), err)
		}
		want = nil
	}
	write(100)
	receive("a write before hold")
	c.hold()
	write(4096)
	if err := peer.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := peer.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatal("a short write was not held back")
	}
	write(50_000)
	receive("a long write")
	write(mostHeld)
	write(1)
	write(7)
	if err := c.release(); err != nil {
		t.Fatal(err)
	}
	receive("release")
	write(5)
	receive("a write after release")
}

// TestFailedReleaseClosesTheConnection checks that no response can follow one whose held bytes were lost.
func TestFailedReleaseClosesTheConnection(t *testing.T) {
	c, peer := pairOf(t)
	c.hold()
	if _, err := c.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if err := c.SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := c.release(); err == nil {
		t.Fatal("no error after the deadline")
	}
	if err := peer.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := peer.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes, error %v; want the end of the connection", n, err)
	}
}

// TestJoinedResponses sends bodies of many lengths over one connection.
func TestJoinedResponses(t *testing.T) {
	body := func(n int) []byte { return bytes.Repeat([]byte(strconv.Itoa(n)), n)[:n] }
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		x := &exchange{ResponseWriter: w, r: r}
		x.write(http.StatusOK, "application/json", body(n))
	}))
	srv.Listener = JoinWrites(srv.Listener)
	srv.Config.ConnContext = JoinContext
	srv.Start()
	defer srv.Close()
	lengths := []int{0, 1, 3800, 3900, 4000, 4095, 4096, 4097, 8100, 8191, 8192, 8193, 9000, 12_288, 100_000, 3_000_000, 10}
	for _, n := range append(lengths, lengths...) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/?n="+strconv.Itoa(n), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Equal(got, body(n)) {
			t.Fatalf("length %d: received %d bytes, or other bytes; error %v", n, len(got), err)
		}
	}
}
