package cluster

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
)

// TestReadsDoNotWait checks that client-go sees the header Retry-After only in the responses to writes.
func TestReadsDoNotWait(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	cfg, conns := connect(&rest.Config{Host: server.URL})
	defer conns.CloseAll()
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]string{http.MethodGet: "", http.MethodPatch: "5"} {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if got := resp.Header.Get("Retry-After"); got != want {
			t.Errorf("%s: Retry-After is %q, want %q", method, got, want)
		}
	}
}
