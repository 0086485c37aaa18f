package load

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "hello" || r.Header.Get("X-Kind") != "post" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 300<<10))
	}))
	t.Cleanup(s.Close)
	r := Request{Method: http.MethodPost, URL: s.URL + "/page", Header: http.Header{"X-Kind": {"post"}}, Body: []byte("hello")}
	checked := atomic.Int64{}
	got := Run(t, 4, slices.Repeat([]Request{r}, 50), http.StatusOK, func(_ int, body []byte) error { checked.Add(int64(len(body))); return nil })
	if want := int64(50 * 300 << 10); checked.Load() != want {
		t.Errorf("%d bytes were checked; want %d", checked.Load(), want)
	}
	if got.Requests != 50 || len(got.Latencies) != 50 || slices.Min(got.Latencies) <= 0 || got.Elapsed <= 0 || len(got.Quantiles) != 3 {
		t.Errorf("%+v", got)
	}
}

func TestUnexpectedStatus(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	t.Cleanup(s.Close)
	for _, want := range []int{0, http.StatusOK} {
		_, err := expect(t.Context(), Request{Method: http.MethodGet, URL: s.URL + "/page?access_token=secret"}, want)
		if err == nil || !strings.Contains(err.Error(), "/page returned 403: no") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

func TestQuantiles(t *testing.T) {
	list := []time.Duration{5, 1, 4, 2, 3}
	if got := Quantiles(list); !slices.Equal(got, []time.Duration{3, 5, 5}) || list[0] != 5 || Quantiles(nil) != nil {
		t.Errorf("%v of %v", got, list)
	}
}

// TestWrk runs the real wrk. It is skipped if wrk is not installed.
func TestWrk(t *testing.T) {
	if _, err := exec.LookPath("wrk"); err != nil {
		t.Skipf("DID NOT RUN: %v", err)
	}
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.RequestURI+r.Header.Get("Accept-Encoding")]++
	}))
	t.Cleanup(server.Close)
	one := Wrk(t, 2, []string{server.URL + "/hot"}, "Accept-Encoding: gzip")
	if one.Requests < 10 || one.Requests > asked["/hotgzip"] || one.Elapsed < 2*time.Second || len(one.Quantiles) != 3 || one.Quantiles[0] <= 0 {
		t.Errorf("one URL: %+v of %v", one, asked)
	}
	var urls []string
	for i := range 100 {
		urls = append(urls, fmt.Sprintf("%s/many?n=%d", server.URL, i))
	}
	many := Wrk(t, 4, urls, "")
	if many.Requests < 90 || many.Requests > 104 || many.Elapsed >= 2*time.Second {
		t.Errorf("many URLs: %+v", many)
	}
	for i := range urls {
		if asked[fmt.Sprintf("/many?n=%d", i)] == 0 {
			t.Errorf("page %d was not requested", i)
		}
	}
}
