package opensearch

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/library"
)

// TestSnapshot checks that a deleted index of items can be restored from a snapshot while the library is open. It also checks that a
// whole library can be restored while no replica runs.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	c := nodetest.NewCluster(t, 1, "512m")
	first := onCluster(t, c, 1, Options{})[0]
	do := func(method, path string, body any) {
		t.Helper()
		if err := first.cluster.Do(t.Context(), method, path, body, nil); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, first, agreedDefinitions()...)
	apply(t, first, accessToken(1))
	want := fill(t, first, 200)
	start := changed(t, first, "").Next
	everything := first.names.EveryIndex()
	do(http.MethodPut, "/_snapshot/backups", object{"type": "fs", "settings": object{"location": c.Snapshots()}})
	do(http.MethodPut, "/_snapshot/backups/one?wait_for_completion=true", object{"indices": everything, "include_global_state": false})

	deleted := indicesOf(t, first).Current.Name
	do(http.MethodDelete, "/"+deleted, nil)
	_, err := first.Write(t.Context(), shop, []library.Mutation{{Put: image(0, "refused")}})
	if !errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), first.names.Items(shop)) {
		t.Errorf("a write without the index: %v", err)
	}
	restore := func(indices string) {
		t.Helper()
		do(http.MethodPost, "/_snapshot/backups/one/_restore?wait_for_completion=true", object{"indices": indices, "include_global_state": false})
	}
	restore(deleted)
	check := func(l *Library) {
		t.Helper()
		if got := exported(t, l); !maps.Equal(got, want) {
			t.Errorf("%d items, want %d", len(got), len(want))
		}
		// On a busy machine, a request of State can exceed its time limit.
		eventually(t, "the library is ready with all items", func() bool {
			s := l.State(t.Context())
			return s.Ready && s.Problem == "" && s.Items == int64(len(want))
		})
	}
	check(first)
	outcome := mustWrite(t, first, library.Mutation{Put: image(0, "added")})[0]
	want[outcome.ID] = "added"
	check(first)
	// The item has the sequence number of an operation that the restored index does not have.
	if out := changed(t, first, start); !out.Lost {
		t.Errorf("changes since the snapshot: %+v, want Lost", out)
	}
	delete(want, outcome.ID) // the snapshot was taken before this item was created

	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for index := range strings.SplitSeq(everything, ",") {
		do(http.MethodDelete, "/"+index+"*", nil)
	}
	restore(everything)
	second := onCluster(t, c, 1, Options{})[0]
	check(second)
	for _, d := range append(agreedDefinitions(), accessToken(1)) {
		if _, err := second.Definition(t.Context(), d.Owner); err != nil {
			t.Errorf("the definition of %s: %v", d.Owner, err)
		}
	}
}
