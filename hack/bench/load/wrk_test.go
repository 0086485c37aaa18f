package load

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// TestWrk runs the real wrk. It is skipped if wrk is not installed.
func TestWrk(t *testing.T) {
	w, err := NewWrk(t.TempDir())
	if errors.Is(err, ErrNoWrk) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.RequestURI+r.Header.Get("Accept-Encoding")]++
		if r.URL.Path == "/none" {
			http.NotFound(out, r)
		}
	}))
	defer server.Close()
	parse := func(path string) *url.URL {
		u, err := url.Parse(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	cpu := time.Duration(0)
	one, err := w.Run(t.Context(), WrkPlan{
		Clients: 2, Seconds: 1, URLs: []*url.URL{parse("/hot")}, Header: "Accept-Encoding: gzip",
		CPU: func() (time.Duration, error) { cpu += time.Second; return cpu, nil },
	})
	if err != nil || one.Requests < 10 || one.Requests > asked["/hotgzip"] || one.Elapsed < time.Second || one.CPU != time.Second || one.Bytes == 0 {
		t.Errorf("one URL: %+v of %v, %v", one, asked, err)
	}
	var urls []*url.URL
	for i := range 100 {
		urls = append(urls, parse("/many?n="+string(rune('a'+i%26))+string(rune('a'+i/26))))
	}
	many, err := w.Run(t.Context(), WrkPlan{Clients: 4, Seconds: 1, URLs: urls})
	if err != nil || many.Requests < 90 || many.Requests > 104 || many.Elapsed >= time.Second {
		t.Errorf("many URLs: %+v, %v", many, err)
	}
	for _, u := range urls {
		if asked[u.RequestURI()] == 0 {
			t.Errorf("%s was not requested", u)
		}
	}
	if r, err := w.Run(t.Context(), WrkPlan{Clients: 2, Seconds: 1, URLs: []*url.URL{parse("/none")}}); err == nil {
		t.Errorf("404 counts as success: %+v", r)
	}
}
