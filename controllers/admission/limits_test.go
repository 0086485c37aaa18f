package admission

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
)

// review is a review of a filter with a query, without a cluster.
func review(query string) string {
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",
"kind":{"group":"vitrine.dev","version":"v1alpha1","kind":"ContentFilter"},"namespace":"shop","name":"z","operation":"CREATE",
"object":{"apiVersion":"vitrine.dev/v1alpha1","kind":"ContentFilter","metadata":{"name":"z","namespace":"shop"},"spec":{"query":%q}}}}`, query)
}

func newHandler(t *testing.T) http.Handler {
	t.Helper()
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func post(h http.Handler, body io.Reader) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, Path, body))
	return w
}

func TestReviewsThatCannotBeRead(t *testing.T) {
	h := newHandler(t)
	for name, tc := range map[string]struct {
		body string
		code int
	}{
		"a review":                  {review("beach"), http.StatusOK},
		"the largest review":        {review("beach") + strings.Repeat(" ", maxBody-len(review("beach"))), http.StatusOK},
		"a review that is too long": {review("beach") + strings.Repeat(" ", maxBody-len(review("beach"))+1), http.StatusRequestEntityTooLarge},
		"the largest spec":          {review(strings.Repeat("x", maxSpec-len(`{"query":""}`))), http.StatusOK},
		"a spec that is too long":   {review(strings.Repeat("x", maxSpec-len(`{"query":""}`)+1)), http.StatusBadRequest},
		"YAML":                      {"request: {uid: u}", http.StatusBadRequest},
		"no request":                {"{}", http.StatusBadRequest},
		"nothing":                   {"", http.StatusBadRequest},
		"a name that is no text":    {`{"request":{"uid":"u","object":{"metadata":{"name":1}}}}`, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			if w := post(h, strings.NewReader(tc.body)); w.Code != tc.code {
				t.Errorf("%d %s; want %d", w.Code, w.Body, tc.code)
			}
		})
	}
}

// TestSpecThatCannotBeRead checks that the webhook refuses a spec whose members have other types than the schema says.
func TestSpecThatCannotBeRead(t *testing.T) {
	w := post(newHandler(t), strings.NewReader(strings.Replace(review("x"), `"query":"x"`, `"query":1`, 1)))
	var got admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Response == nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if r := got.Response; r.Allowed || r.UID != "u" || r.Result.Code != http.StatusBadRequest || !strings.Contains(r.Result.Message, "spec.query") {
		t.Errorf("%s", w.Body)
	}
}

// TestSlowCallers checks that reviews do not wait for requests whose bodies arrive slowly, and that the handler drops requests beyond the
// limit at once.
func TestSlowCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t)
		var running sync.WaitGroup
		var bodies []*io.PipeWriter
		slow := func() {
			body, w := io.Pipe()
			bodies = append(bodies, w)
			running.Go(func() {
				if w := post(h, body); w.Code != http.StatusOK {
					t.Errorf("a review that arrives slowly: %d %s", w.Code, w.Body)
				}
			})
		}
		for range maxRequests - 1 {
			slow()
		}
		synctest.Wait()
		began := time.Now()
		if w := post(h, strings.NewReader(review("beach"))); w.Code != http.StatusOK || time.Since(began) != 0 {
			t.Errorf("a review beside slow ones: %d after %s of the bubble's clock", w.Code, time.Since(began))
		}
		slow()
		synctest.Wait()
		if w := post(h, strings.NewReader(review("beach"))); w.Code != http.StatusServiceUnavailable || time.Since(began) != 0 {
			t.Errorf("one request too many: %d after %s of the bubble's clock", w.Code, time.Since(began))
		}
		for _, w := range bodies {
			if _, err := io.WriteString(w, review("beach")); err != nil {
				t.Error(err)
			}
			w.Close()
		}
		running.Wait()
	})
}

// TestConcurrentReviews checks that reviews beyond the limit wait, and that the handler drops those that wait too long.
func TestConcurrentReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, ok := newHandler(t).(*http.ServeMux)
		if !ok {
			t.Fatal("the handler is no mux")
		}
		inner, _ := h.Handler(httptest.NewRequest(http.MethodPost, Path, nil))
		running := inner.(*handler).running
		for range maxReviews {
			running <- struct{}{}
		}
		began := time.Now()
		if w := post(h, strings.NewReader(review("beach"))); w.Code != http.StatusServiceUnavailable {
			t.Errorf("one review too many: %d", w.Code)
		}
		if waited := time.Since(began); waited != maxWait {
			t.Errorf("dropped after %s of the bubble's clock; want %s", waited, maxWait)
		}
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if w := post(h, strings.NewReader(review("beach"))); w.Code != http.StatusOK {
				t.Errorf("a review that waits: %d", w.Code)
			}
		})
		synctest.Wait()
		<-running
		waiting.Wait()
	})
}

// one is a listener that accepts one connection.
type one struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l one) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l one) Close() error   { close(l.closed); return nil }
func (l one) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowReview checks that a caller that sends its review too slowly loses its place.
func TestSlowReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one{make(chan net.Conn, 1), make(chan struct{})}
		server := &http.Server{Handler: newHandler(t), ReadHeaderTimeout: time.Hour}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(l) }) // returns when the server is closed
		near, far := net.Pipe()
		l.conn <- far
		began := time.Now()
		fmt.Fprintf(near, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{", Path)
		response, err := http.ReadResponse(bufio.NewReader(near), nil)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if waited := time.Since(began); response.StatusCode != http.StatusBadRequest || waited != maxRead {
			t.Errorf("%d after %s of the bubble's clock; want %d after %s", response.StatusCode, waited, http.StatusBadRequest, maxRead)
		}
		near.Close()
		server.Close()
		serving.Wait()
	})
}
