package httpapi_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
)

// sink is a ResponseWriter that discards the body.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header { return s.header }

func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(b []byte) (int, error) {
	s.bytes += len(b)
	return len(b), nil
}

// BenchmarkFilterPage measures the cost for the server when a display polls its filter: all middleware and a page of 50 items, without the
// network.
func BenchmarkFilterPage(b *testing.B) {
	a := newApp(b, func(o *httpapi.Options) { o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) })
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf(`{"id":%d,"approval_status":"app","created_on":"2026-02-01T00:00:00Z","content":{"content_type":"image",`+
			`"text":"%s","social_platform":"instagram","author":{"username":"someone"},"media":{"original_url":"https://img.example/%d.jpg"}}}`,
			10_000+i, strings.Repeat("a day at the beach ", 10), i))
	}
	a.write(shop, lines...)
	const uuid = "11111111-2222-4333-8444-999999999999"
	a.apply(library.Definition{Property: shop, Filter: &library.Filter{UUID: uuid, ID: 77, Name: "bench", Query: "text:beach", Public: true}})
	path := "/v2/content/filters/" + uuid + "?page_size=50"
	requests := map[string]func(*http.Request){
		"plain":        func(*http.Request) {},
		"gzip":         func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") },
		"not modified": func(*http.Request) {},
	}
	for name, adjust := range requests {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Authorization", "Bearer "+token("ro"))
			adjust(r)
			if name == "not modified" {
				first := httptest.NewRecorder()
				a.server.ServeHTTP(first, r)
				r.Header.Set("If-None-Match", first.Header().Get("ETag"))
			}
			b.ReportAllocs()
			w := &sink{header: http.Header{}}
			for b.Loop() {
				clear(w.header)
				a.server.ServeHTTP(w, r)
			}
			if w.status != http.StatusOK && w.status != http.StatusNotModified {
				b.Fatalf("status %d", w.status)
			}
			b.ReportMetric(float64(w.bytes)/float64(b.N), "B/answer")
		})
	}
}
