package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCountWrites holds that requests which change something of our kinds are counted, by whatever verb, and no others.
func TestCountWrites(t *testing.T) {
	const page = `# TYPE apiserver_request_total counter
apiserver_request_total{code="201",group="vitrine.dev",resource="contentfilters",subresource="",verb="POST"} 1000
apiserver_request_total{code="409",group="vitrine.dev",resource="contentfilters",subresource="",verb="POST"} 2
apiserver_request_total{code="200",group="vitrine.dev",resource="contentfilters",subresource="status",verb="APPLY"} 1.5e+03
apiserver_request_total{code="200",group="vitrine.dev",resource="contentfilters",subresource="",verb="LIST"} 7
apiserver_request_total{code="201",group="events.k8s.io",resource="events",subresource="",verb="POST"} 3
apiserver_request_total{code="201",group="",resource="secrets",subresource="",verb="POST"} 4
apiserver_request_duration_seconds_count{group="vitrine.dev",resource="contentfilters",verb="POST"} 5
`
	got, err := countWrites(page)
	if err != nil {
		t.Fatal(err)
	}
	want := writes{"contentfilters": 1002, "contentfilters/status": 1500, "events": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	later := writes{"contentfilters": 1002, "contentfilters/status": 1501, "events": 3, "tags": 1}
	if diff := cmp.Diff(writes{"contentfilters/status": 1, "tags": 1}, later.since(got)); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
	if n := got.total(); n != 2505 {
		t.Errorf("total %d, want 2505", n)
	}
	if _, err := countWrites(`apiserver_request_total{group="vitrine.dev",resource="tags",verb="POST"} many`); err == nil {
		t.Error("a line that holds no number is taken")
	}
}

func TestEach(t *testing.T) {
	var sum atomic.Int64
	if err := each(t.Context(), 100, 8, func(_ context.Context, i int) error { sum.Add(int64(i)); return nil }); err != nil || sum.Load() != 4950 {
		t.Errorf("sum %d, %v; want 4950", sum.Load(), err)
	}
	broken := errors.New("broken")
	err := each(t.Context(), 100, 8, func(_ context.Context, i int) error {
		if i == 10 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}
