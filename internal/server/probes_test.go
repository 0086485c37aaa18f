package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/server/library"
)

// stateOnly is a library that implements only State.
type stateOnly struct {
	library.Library
	state library.State
}

func (l stateOnly) State(context.Context) library.State { return l.state }

// troubles returns problems of n properties.
func troubles(n int) map[library.PropertyID]library.Trouble {
	all := map[library.PropertyID]library.Trouble{}
	for i := range n {
		t := library.Trouble{Problem: "the index cannot be written"}
		switch i % 3 {
		case 0:
			t = library.Trouble{Unserved: true, Passing: true, Problem: "rebuilding the index", Progress: "5 of 10 items"}
		case 1:
			t = library.Trouble{Unserved: true, Problem: "the index cannot be opened"}
		}
		all[library.PropertyID(fmt.Sprintf("shop/%02d", i))] = t
	}
	return all
}

func TestProbes(t *testing.T) {
	ready := library.State{Ready: true, Items: 1200, Definitions: 7}
	held := &library.HeldError{Remove: 30, Total: 60}
	cases := map[string]struct {
		state    library.State
		tokens   bool
		operator *cluster.Status // nil if the server runs without Kubernetes
		draining bool
		code     int
		says     []string
		gate     int // status code with which the gate responds
	}{
		"following": {
			state: ready, tokens: true, operator: &cluster.Status{Synced: true, Remembered: true, Message: "following the cluster"},
			code: 200, gate: 200, says: []string{"ready\n", "[+] store: 1,200 items, 7 definitions", "[+] definitions: following the cluster"},
		},
		"API server unreachable, earlier load recorded": {
			state: ready, tokens: true,
			operator: &cluster.Status{Remembered: true, LastError: errors.New("refused"), Message: "serving the last known state: refused"},
			code:     200, gate: 200, says: []string{"[+] definitions: serving the last known state: refused"},
		},
		"never loaded": {
			state: ready, tokens: true, operator: &cluster.Status{LastError: errors.New("refused"), Message: "nothing loaded yet: refused"},
			code: 503, gate: 503, says: []string{"not ready\n", "[-] definitions: nothing loaded yet: refused"},
		},
		"sweep held": {
			state: ready, tokens: true, operator: &cluster.Status{Synced: true, Remembered: true, HeldSweep: held, Message: held.Error()},
			code: 200, gate: 200, says: []string{"[+] sweep: ", "30 of 60", "vitrine sweep --confirm"},
		},
		"tokens unknown": {state: ready, code: 503, gate: 200, says: []string{"[-] tokens: being read"}},
		"disk full": {
			state: library.State{Problem: "disk full"}, tokens: true,
			code: 503, gate: 200, says: []string{"[-] store: 0 items, 0 definitions; disk full"},
		},
		"properties with problems of their own": {
			state: library.State{Ready: true, Troubles: troubles(12)}, tokens: true, code: 200, gate: 200, says: []string{
				"ready\n[+] store: 0 items, 0 definitions\n", "[+] property shop/00: rebuilding; rebuilding the index: 5 of 10 items\n",
				"[+] property shop/01: failed; the index cannot be opened\n", "[+] property shop/02: degraded; the index cannot be written\n",
				"[+] properties: 2 more have a problem: ",
			},
		},
		"shutting down": {state: ready, tokens: true, draining: true, code: 503, gate: 200, says: []string{"[-] process: shutting down"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &health{lib: stateOnly{state: tc.state}, tokens: func() bool { return tc.tokens }}
			if tc.operator != nil {
				h.operator = func() cluster.Status { return *tc.operator }
				h.loaded = func() bool { return tc.operator.Remembered }
			}
			h.draining.Store(tc.draining)
			ask := func(handler http.Handler, path string) *httptest.ResponseRecorder {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				return w
			}
			w := ask(h.probes(), "/readyz")
			if w.Code != tc.code {
				t.Errorf("/readyz: %d; want %d", w.Code, tc.code)
			}
			for _, part := range tc.says {
				if !strings.Contains(w.Body.String(), part) {
					t.Errorf("/readyz does not say %q:\n%s", part, w.Body)
				}
			}
			if w := ask((&health{}).probes(), "/healthz"); w.Code != http.StatusOK || w.Body.String() != "alive\n" {
				t.Errorf("/healthz: %d %s", w.Code, w.Body)
			}
			w = ask(h.gate(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), "/v2/content/items")
			if w.Code != tc.gate {
				t.Errorf("the interface answers %d; want %d", w.Code, tc.gate)
			}
			if w.Code == http.StatusServiceUnavailable && (w.Header().Get("Retry-After") == "" || w.Header().Get("Content-Type") != "application/problem+json") {
				t.Errorf("the interface is not ready with headers %v", w.Header())
			}
		})
	}
}
