package browser

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// relay is a slow network between a browser and a server: a proxy that delays each request of the console to the API.
type relay struct {
	// latency returns the time by which the next request is delayed. Half of it passes before the request reaches the server, and the other
	// half before the response reaches the browser.
	latency func() time.Duration
	// before is called before a request to the API reaches the server.
	before func(r *http.Request)
	// lose reports whether the connection breaks in the middle of the response to a request.
	lose func(r *http.Request) bool
	// deaf makes requests for changes wait forever, so that a page does not see what others do.
	deaf atomic.Bool
	// log records the changes of items. The relays of several browsers can share it.
	log *writeLog
}

// writeLog contains the changes of items in the order in which the server made them. For this order, only one change is in progress at a
// time.
type writeLog struct {
	mutex  sync.Mutex
	writes []write
}

// write is a change that a server has made to an item.
type write struct {
	by  *relay
	id  int
	set map[string]any // the members in the request
}

// startRelay starts a relay, and returns the server as a browser behind the relay sees it.
func startRelay(t *testing.T, s *server, r *relay) *server {
	t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(target)
		p.Out.Host = p.In.Host // the console rejects requests whose origin differs from the host
	}}
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		path, isAPI := strings.CutPrefix(in.URL.Path, "/console/api/")
		if !isAPI {
			proxy.ServeHTTP(w, in)
			return
		}
		if r.deaf.Load() && path == "v2/content/changes" {
			<-in.Context().Done()
			return
		}
		half := r.latency() / 2
		time.Sleep(half) //nolint:forbidigo // this is the latency of the network; nothing waits for an event
		if r.before != nil {
			r.before(in)
		}
		answer := httptest.NewRecorder()
		if id, err := strconv.Atoi(strings.TrimPrefix(path, "v2/content/")); err == nil && in.Method == http.MethodPatch {
			r.log.forward(t, proxy, answer, in, write{by: r, id: id})
		} else {
			proxy.ServeHTTP(answer, in)
		}
		time.Sleep(half) //nolint:forbidigo // the latency, as above
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		if r.lose != nil && r.lose(in) {
			w.WriteHeader(http.StatusOK) // a response with the status 204 would already be complete
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(slow.Close)
	seen := *s
	seen.url = slow.URL
	return &seen
}

// forward passes on a change of an item, and records it if the server has made it.
func (l *writeLog) forward(t *testing.T, to http.Handler, answer *httptest.ResponseRecorder, in *http.Request, w write) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return // the browser has canceled the request
	}
	if err := json.Unmarshal(body, &w.set); err != nil {
		t.Errorf("PATCH: %v", err)
	}
	in.Body = io.NopCloser(bytes.NewReader(body))
	l.mutex.Lock()
	defer l.mutex.Unlock()
	to.ServeHTTP(answer, in)
	if answer.Code == http.StatusOK {
		l.writes = append(l.writes, w)
	}
}
