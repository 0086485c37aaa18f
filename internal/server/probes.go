package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
)

// health is the state that the probes report.
type health struct {
	lib library.Library
	// tokens reports whether the server has read all tokens.
	tokens func() bool
	// operator returns the state of the supervisor. loaded reports whether the definitions are loaded: from the cluster, from files, or
	// from a store that has recorded a complete load. Both functions are nil if the server serves only the stored state.
	operator func() cluster.Status
	loaded   func() bool
	draining atomic.Bool
}

// check is the state of one part of the process, as one line of the response of /readyz.
type check struct {
	name   string
	ok     bool
	detail string
}

// shownTroubles is the maximum number of properties with a problem that the response of /readyz lists.
const shownTroubles = 10

// checks returns a check for every part. The process is ready only if all checks are ok.
func (h *health) checks(r *http.Request) []check {
	state := h.lib.State(r.Context())
	store := check{"store", state.Ready, fmt.Sprintf("%s items, %s definitions", text.Thousands(state.Items), text.Thousands(state.Definitions))}
	if state.Problem != "" {
		store.detail += "; " + state.Problem
	}
	if state.Loss != "" {
		store.detail += "; opened although acknowledged data is missing: " + state.Loss
	}
	tokens := check{"tokens", h.tokens(), "known"}
	if !tokens.ok {
		tokens.detail = "being read"
	}
	checks := []check{store, tokens}
	// These checks do not make the process unready, because it serves the other properties.
	for i, p := range slices.Sorted(maps.Keys(state.Troubles)) {
		if i == shownTroubles {
			checks = append(checks, check{"properties", true, fmt.Sprintf("%d more have a problem: the metric vitrine_property_problem lists them", len(state.Troubles)-i)})
			break
		}
		t := state.Troubles[p]
		checks = append(checks, check{"property " + string(p), true, t.State() + "; " + t.String()})
	}
	if h.operator == nil {
		checks = append(checks, check{"definitions", true, "serving the stored state, without Kubernetes"})
	} else {
		s := h.operator()
		checks = append(checks, check{"definitions", h.loaded(), s.Message})
		if s.HeldSweep != nil {
			checks = append(checks, check{"sweep", true, fmt.Sprintf("%v with vitrine sweep --confirm", s.HeldSweep)})
		}
	}
	if h.draining.Load() {
		checks = append(checks, check{"process", false, "shutting down"})
	}
	return checks
}

// probes serves /readyz, with the checks as text, and /healthz.
func (h *health) probes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		code, word := http.StatusOK, "ready"
		for _, c := range h.checks(r) {
			sign := "+"
			if !c.ok {
				sign, code, word = "-", http.StatusServiceUnavailable, "not ready"
			}
			fmt.Fprintf(&b, "[%s] %s: %s\n", sign, c.name, c.detail)
		}
		answerProbe(w, code, word+"\n"+b.String())
	})
	// This handler checks nothing. A process that responds is alive, and a restart repairs neither a full disk nor an unreachable API
	// server or OpenSearch cluster. In addition, a check could take longer than the kubelet waits for a response.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answerProbe(w, http.StatusOK, "alive\n") })
	return mux
}

// answerProbe sends the response to a probe.
func answerProbe(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	fmt.Fprint(w, text)
}

// gate responds with 503 until the definitions are loaded, because otherwise the server would report existing filters as missing. While the
// process stops, gate adds the header "Connection: close" to each response.
func (h *health) gate(next http.Handler) http.Handler {
	starting := problems.Unavailable.Document("the server is starting and loading its definitions: retry in a few seconds")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		if h.loaded == nil || h.loaded() {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", problems.MediaType)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(starting.Status)
		_ = json.NewEncoder(w).Encode(starting) // fails only if the caller has disconnected
	})
}
