package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

const (
	// newsPace is the time between two writes while the delay of news is measured, and newsWrites is the number of writes.
	newsPace, newsWrites = 10 * time.Millisecond, 1500
	// streamPace is the time between two writes while many streams are open, and streamWrites is the number of writes.
	streamPace, streamWrites = time.Second, 20
)

// live measures how long after a write its news arrive, and what many open streams of events cost.
func (s *suite) live(tb testing.TB) {
	tb.Helper()
	everything := []sample.Filter{{Name: "everything", Query: "*:*", Order: newestFirst}}
	v := s.serve(tb, subject.NewStore(tb, filepath.Join(s.dir, "store-live"), everything))
	s.importVitrine(tb, v, 0, s.filled)
	s.news(tb, v)
	s.manyStreams(tb, v)
	v.Stop(tb, syscall.SIGTERM)
}

// delays contains the times at which a reader knew of writes. There is only one writer, so the readers learn of the writes in their order.
type delays struct {
	mu    sync.Mutex
	known []time.Time
}

// knows records that the reader knows of n writes now.
func (d *delays) knows(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.known) < n {
		d.known = append(d.known, time.Now())
	}
}

// all reports whether the reader knows of n writes.
func (d *delays) all(n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.known) >= n
}

// result returns the delays after the times at which the writes were acknowledged. A reader can know of a write before the writer has
// received the response.
func (d *delays) result(acknowledged []time.Time) load.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := load.Result{Requests: len(acknowledged), Elapsed: acknowledged[len(acknowledged)-1].Sub(acknowledged[0])}
	for i, at := range acknowledged {
		r.Latencies = append(r.Latencies, max(0, d.known[i].Sub(at)))
	}
	r.Quantiles = load.Quantiles(r.Latencies)
	return r
}

// write sends n posts, one for each pace, and returns the times of the responses.
func (s *suite) write(tb testing.TB, v *subject.Vitrine, n int, pace time.Duration) []time.Time {
	tb.Helper()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	var acknowledged []time.Time
	for range n {
		<-tick.C
		s.written++
		load.Do(tb, v.Post(s.corpus.Post(s.written)), http.StatusCreated)
		acknowledged = append(acknowledged, time.Now())
	}
	return acknowledged
}

// news measures the time from the response to a write until an event, and the response to a waiting request, report the write.
func (s *suite) news(tb testing.TB, v *subject.Vitrine) {
	tb.Helper()
	var byEvent, byWait delays
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	readers, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{}, 2)
	began := false
	var before int64
	readers.Go(func() error {
		return listen(ctx, v.Events(0), func(total int64) {
			if !began {
				began, before = true, total
				ready <- struct{}{}
			}
			byEvent.knows(int(total - before))
		})
	})
	readers.Go(func() error {
		return follow(ctx, v, func() { ready <- struct{}{} }, byWait.knows)
	})
	for range 2 {
		select {
		case <-ready:
		case <-ctx.Done():
			tb.Fatal(readers.Wait())
		}
	}
	acknowledged := s.write(tb, v, newsWrites, newsPace)
	v.Await(tb, "news of all writes", func() bool { return byEvent.all(newsWrites) && byWait.all(newsWrites) })
	cancel()
	if err := readers.Wait(); err != nil && ctx.Err() == nil {
		tb.Fatal(err)
	}
	result(tb, "news", report.ByEvent, 0, func(testing.TB) load.Result { return byEvent.result(acknowledged) })
	result(tb, "news", report.ByWait, 0, func(testing.TB) load.Result { return byWait.result(acknowledged) })
}

// follow requests changes and waits for them, until ctx ends. It calls ready when it has a cursor, and then known with the number of items
// that have changed.
func follow(ctx context.Context, v *subject.Vitrine, ready func(), known func(int)) error {
	var page struct {
		Embedded struct {
			Changes []json.RawMessage `json:"changes"`
		} `json:"_embedded"`
		Links struct {
			Next struct {
				Href string `json:"href"`
			} `json:"next"`
		} `json:"_links"`
	}
	r := v.Changes("*:*")
	for changed := 0; ; known(changed) {
		resp, err := load.Send(ctx, r)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(resp.Body, &page); err != nil || resp.Status != http.StatusOK {
			return fmt.Errorf("changes: %d %s: %w", resp.Status, resp.Body, err)
		}
		if ready != nil {
			ready()
			ready = nil
		}
		changed += len(page.Embedded.Changes)
		if r.URL, err = resolve(r.URL, page.Links.Next.Href); err != nil {
			return err
		}
	}
}

// resolve returns the URL of a link on a page.
func resolve(page, link string) (string, error) {
	base, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	next, err := base.Parse(link)
	if err != nil {
		return "", err
	}
	return next.String(), nil
}

// listen opens a stream of events, and calls heard with the total of each event until ctx ends.
func listen(ctx context.Context, r load.Request, heard func(total int64)) error {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, nil)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", req.URL.Host)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	if err := req.Write(conn); err != nil {
		return err
	}
	for lines := bufio.NewReaderSize(conn, 512); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if _, data, ok := bytes.Cut(line, []byte(`"total_results":`)); ok {
			var total int64
			if _, err := fmt.Sscanf(string(data), "%d}", &total); err != nil {
				return fmt.Errorf("event %q: %w", line, err)
			}
			heard(total)
		}
	}
}

// manyStreams measures the memory and the processor time of streams of events of one filter, which all tell of one change a second. An
// operation is one second.
func (s *suite) manyStreams(tb testing.TB, v *subject.Vitrine) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	v.Collect(tb)
	before := v.Memory(tb, v.Store.Dir).Resident
	var begun, heard atomic.Int64
	streams, ctx := errgroup.WithContext(ctx)
	for i := range s.streams {
		streams.Go(func() error {
			first := true
			return listen(ctx, v.Events(i), func(int64) {
				if first {
					first = false
					begun.Add(1)
					return
				}
				heard.Add(1)
			})
		})
		if i%100 == 99 { // the queue of new connections is short
			v.Await(tb, "open streams", func() bool { return begun.Load() > int64(i) || ctx.Err() != nil })
		}
	}
	result(tb, "streams", report.Vitrine, 0, func(tb testing.TB) load.Result {
		return timed(report.Vitrine, v.CPU, func(tb testing.TB, _ int) load.Result {
			began := time.Now()
			s.write(tb, v, streamWrites, streamPace)
			return load.Result{Requests: streamWrites, Elapsed: time.Since(began), Resident: v.Memory(tb, v.Store.Dir).Resident - before}
		}).round(tb, 0)
	})
	// The last event follows the last write by up to a second. Events of two writes can arrive as one.
	if least := int64(s.streams * streamWrites / 2); heard.Load() < least {
		tb.Fatalf("the streams got %d events, want at least %d", heard.Load(), least)
	}
	cancel()
	if err := streams.Wait(); err != nil && ctx.Err() == nil {
		tb.Fatal(err)
	}
}
