package httpapi_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/httpapi"
)

// TestGatherWrites holds that answers over gathered connections are those of others: short and long, one after the other on
// one connection, to HEAD, and with nothing held back when the caller waits.
func TestGatherWrites(t *testing.T) {
	a := newApp(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: a.server, ConnContext: httpapi.ConnContext, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(httpapi.GatherWrites(listener)) }()
	t.Cleanup(func() { server.Close() })
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	from := bufio.NewReader(conn)
	long := 0
	for _, c := range []call{
		{url: q("*:*"), token: "rw"},
		{url: q("id:1001"), token: "rw"},
		{url: q("*:*"), token: "rw", method: http.MethodHead},
		{url: "/v2/nothing", token: "rw"},
		{url: q("*:*"), token: "rw", header: map[string]string{"Accept-Encoding": "gzip"}},
		{url: q("*:*"), token: "rw"},
		{url: "/openapi.json"},
	} {
		r := c.request()
		want := httptest.NewRecorder()
		a.server.ServeHTTP(want, c.request())
		if err := r.Write(conn); err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadResponse(from, r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > 8<<10 {
			long++
		}
		if got.StatusCode != want.Code || !bytes.Equal(body, want.Body.Bytes()) {
			t.Errorf("%s %s: status %d and %d bytes, want %d and %d", r.Method, c.url, got.StatusCode, len(body), want.Code, want.Body.Len())
		}
	}
	if long < 2 {
		t.Errorf("%d answers were long, want some", long)
	}
}
