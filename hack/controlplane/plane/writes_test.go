package plane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCountWrites checks that CountWrites counts all write verbs for the groups, and nothing else.
func TestCountWrites(t *testing.T) {
	const page = `# TYPE apiserver_request_total counter
apiserver_request_total{code="201",group="vitrine.dev",resource="contentfilters",subresource="",verb="POST"} 1000
apiserver_request_total{code="409",group="vitrine.dev",resource="contentfilters",subresource="",verb="POST"} 2
apiserver_request_total{code="200",group="vitrine.dev",resource="contentfilters",subresource="status",verb="APPLY"} 1.5e+03
apiserver_request_total{code="200",group="vitrine.dev",resource="contentfilters",subresource="status",verb="GET"} 7
apiserver_request_total{code="200",group="vitrine.dev",resource="contentfilters",subresource="",verb="LIST"} 7
apiserver_request_total{code="201",group="events.k8s.io",resource="events",subresource="",verb="POST"} 3
apiserver_request_total{code="201",group="",resource="secrets",subresource="",verb="POST"} 4
apiserver_request_duration_seconds_count{group="vitrine.dev",resource="contentfilters",verb="POST"} 5
`
	got, err := CountWrites(page, "vitrine.dev", "events.k8s.io")
	if err != nil {
		t.Fatal(err)
	}
	want := Writes{"contentfilters": 1002, "contentfilters/status": 1500, "events": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	later := Writes{"contentfilters": 1002, "contentfilters/status": 1501, "events": 3, "tags": 1}
	if diff := cmp.Diff(Writes{"contentfilters/status": 1, "tags": 1}, later.Since(got)); diff != "" {
		t.Errorf("Since (-want +got):\n%s", diff)
	}
	if n := got.Total(); n != 2505 {
		t.Errorf("Total %d, want 2505", n)
	}
	if _, err := CountWrites(`apiserver_request_total{group="vitrine.dev",resource="tags",verb="POST"} many`, "vitrine.dev"); err == nil {
		t.Error("CountWrites accepts a line without a number")
	}
}
