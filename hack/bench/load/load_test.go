package load

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func get(t *testing.T, address string) Request {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
}

func TestRun(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "hello" || r.Header.Get("X-Kind") != "post" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 300<<10))
	})
	r := get(t, address+"/page")
	r.Method, r.Body = http.MethodPost, []byte("hello")
	r.Header.Set("X-Kind", "post")
	spent := time.Duration(0)
	c := NewClient(4)
	defer c.Close()
	checked := atomic.Int64{}
	got, err := c.Run(t.Context(), Plan{
		Clients: 4, Requests: slices.Repeat([]Request{r}, 50), Want: http.StatusOK,
		CPU:   func() (time.Duration, error) { spent += time.Second; return spent, nil },
		Check: func(_ int, body []byte) error { checked.Add(int64(len(body))); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(50 * 300 << 10); got.Bytes != want || checked.Load() != want {
		t.Errorf("%d bytes, %d of them checked; want %d", got.Bytes, checked.Load(), want)
	}
	if got.Requests != 50 || len(got.Latencies) != 50 || got.CPU != time.Second || got.Elapsed <= 0 {
		t.Errorf("%+v", got)
	}
	for i, l := range got.Latencies {
		if l <= 0 {
			t.Errorf("request %d took %s", i, l)
		}
	}
}

func TestRunEndsAtUnexpectedStatus(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "no")
	})
	r := get(t, address+"/page?access_token=secret")
	c := NewClient(1)
	defer c.Close()
	_, err := c.Run(t.Context(), Plan{Clients: 2, Requests: slices.Repeat([]Request{r}, 10), Want: http.StatusOK})
	var status *StatusError
	if !errors.As(err, &status) || status.Status != http.StatusForbidden || status.Body != "no" {
		t.Fatalf("%v", err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the token: %v", err)
	}
	if _, _, err := c.Do(t.Context(), r, 0); !errors.As(err, &status) {
		t.Errorf("Do: %v", err)
	}
}

func TestQuantile(t *testing.T) {
	list := []time.Duration{5, 1, 4, 2, 3}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.95: 5, 1: 5} {
		if got := Quantile(list, q); got != want {
			t.Errorf("quantile %v: %d; want %d", q, got, want)
		}
	}
	if Quantile(nil, 0.5) != 0 || list[0] != 5 {
		t.Error("Quantile returns a value for an empty list, or changes the list")
	}
}
