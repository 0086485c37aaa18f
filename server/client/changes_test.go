package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// unreliable is a transport whose next requests fail.
type unreliable struct {
	http.RoundTripper
	fails atomic.Int32
}

func (u *unreliable) RoundTrip(r *http.Request) (*http.Response, error) {
	if u.fails.Add(-1) >= 0 {
		return nil, errors.New("the connection is broken")
	}
	return u.RoundTripper.RoundTrip(r)
}

func (s *realServer) put(t *testing.T, ids ...item.ID) {
	t.Helper()
	var muts []library.Mutation
	for _, id := range ids {
		muts = append(muts, library.Mutation{Replace: true, Put: &item.Item{
			ID: id, ApprovalStatus: item.Approved, CreatedOn: "2026-11-20T08:00:00Z", Content: item.Content{ContentType: item.Text, Text: fmt.Sprint(id)},
		}})
	}
	if outcomes, err := s.lib.Write(t.Context(), "shop/default", muts); err != nil || outcomes[0].Err != nil {
		t.Fatal(err, outcomes)
	}
}

// pageText returns a page as text.
func pageText(p ChangePage) string {
	var parts []string
	if p.Reset {
		parts = append(parts, "reset")
	}
	for _, c := range p.Changes {
		switch {
		case c.Removed:
			parts = append(parts, fmt.Sprint("-", c.ID))
		default:
			parts = append(parts, fmt.Sprint("+", c.ID))
		}
	}
	if p.Cursor != "" {
		parts = append(parts, "cursor")
	}
	return strings.Join(parts, " ")
}

func TestChanges(t *testing.T) {
	s := newRealServer(t)
	c := s.client(t, writer)
	s.put(t, 1, 2, 3, 4, 5)
	var pages []string
	cursor := ""
	for page, err := range c.Changes(t.Context(), Following{Query: "*:*", PageSize: 2, List: true}) {
		if err != nil {
			t.Fatal(err)
		}
		pages, cursor = append(pages, pageText(page)), page.Cursor
	}
	if got := strings.Join(pages, ", "); got != "reset +1 +2, +3 +4, +5 cursor, cursor" {
		t.Errorf("the pages are %s", got)
	}
	s.put(t, 7)
	if _, err := s.lib.Write(t.Context(), "shop/default", []library.Mutation{{Delete: true, ID: 2}, {Delete: true, ID: 7}}); err != nil {
		t.Fatal(err)
	}
	pages = nil
	for page, err := range c.Changes(t.Context(), Following{Query: "*:*", Since: cursor}) {
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, pageText(page))
	}
	if got := strings.Join(pages, ", "); got != "-2 -7 cursor, cursor" {
		t.Errorf("the pages are %s", got)
	}
	for _, err := range c.Changes(t.Context(), Following{Filter: "17"}) {
		if p := new(Problem); !errors.As(err, &p) || p.Status != http.StatusNotFound {
			t.Errorf("an unknown filter: %v", err)
		}
	}
}

// TestChangesContinue checks that a caller that waits for changes continues after failures, without losing changes.
func TestChangesContinue(t *testing.T) {
	s := newRealServer(t)
	c := s.client(t, writer)
	broken := &unreliable{RoundTripper: c.http.Transport}
	c.http.Transport = broken
	pauses, reports := 0, 0
	c.wait = func(context.Context, time.Duration) error { pauses++; return nil }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pages []string
	f := Following{Query: "*:*", Wait: time.Minute, List: true, Retrying: func(error, time.Duration) { reports++ }}
	for page, err := range c.Changes(ctx, f) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		switch pages = append(pages, pageText(page)); len(pages) {
		case 1, 2:
			broken.fails.Store(10)
			s.put(t, item.ID(len(pages)))
		case 3:
			cancel()
		}
	}
	if got := strings.Join(pages, ", "); got != "reset cursor, +1 cursor, +2 cursor" || pauses < 20 || reports != 2*(10/attempts) {
		t.Errorf("the pages are %s, after %d pauses, of which %d were reported", got, pauses, reports)
	}
}

// TestChangesContinueAfterABrokenResponse checks that a caller that waits for changes continues if the server aborts a response, with which
// HTTP/2 fails in another way than HTTP/1.1.
func TestChangesContinueAfterABrokenResponse(t *testing.T) {
	s := newRealServer(t)
	s.put(t, 1, 2)
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			var broken atomic.Int32
			breaking := &realServer{Server: httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				whole := httptest.NewRecorder()
				r.Header.Del("Accept-Encoding")
				s.Config.Handler.ServeHTTP(whole, r)
				if broken.Add(1)%2 == 0 {
					_, _ = w.Write(whole.Body.Bytes())
					return
				}
				_, _ = w.Write(whole.Body.Bytes()[:20])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}))}
			breaking.EnableHTTP2 = http2
			breaking.StartTLS()
			t.Cleanup(breaking.Close)
			c := breaking.client(t, writer)
			c.wait = func(context.Context, time.Duration) error { return nil }
			for page, err := range c.Changes(t.Context(), Following{Query: "*:*", Wait: time.Second, List: true}) {
				if err != nil || pageText(page) != "reset +1 +2 cursor" {
					t.Errorf("the page is %s, error %v", pageText(page), err)
				}
				break
			}
			if n := broken.Load(); n != 4 {
				t.Errorf("%d requests, want 4", n)
			}
		})
	}
}
