package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers"
)

// start is the time at which these tests start.
var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// TestGuardSharesAnswers checks that the guard uses the answer to one request for every deletion that was seen before the request, and for
// no later deletion.
func TestGuardSharesAnswers(t *testing.T) {
	ctx := t.Context()
	var asked atomic.Int64
	failure := errors.New("no answer")
	var fails atomic.Bool
	young := crd{since: start}
	g := newGuard(func(context.Context) (crd, error) {
		asked.Add(1)
		if fails.Load() {
			return crd{}, failure
		}
		return young, nil
	})
	sight := g.sight()
	name := func(n string) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: n} }
	vanish := func(n string, created time.Time) {
		o := &v1alpha1.Tag{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: n, CreationTimestamp: metav1.NewTime(created)}}
		if !sight.Delete(event.DeleteEvent{Object: o}) {
			t.Error("the event is not passed on")
		}
	}
	for _, n := range []string{"a", "b", "c", "d"} {
		vanish(n, start)
	}
	vanish("older than the CRD", start.Add(-time.Second))
	var all sync.WaitGroup
	for _, n := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			if err := g.permit(ctx, name(n), time.Time{}); err != nil {
				t.Errorf("%s: %v", n, err)
			}
		})
	}
	all.Wait()
	if err := g.permit(ctx, name("older than the CRD"), start); !errors.Is(err, controllers.ErrHeld) {
		t.Errorf("an object that is older than its CRD: %v", err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("%d requests for deletions that were seen before, want 1", n)
	}

	vanish("e", start)
	if err := g.permit(ctx, name("e"), start); err != nil || asked.Load() != 2 {
		t.Errorf("a later deletion: %v after %d requests; want another request", err, asked.Load())
	}
	// A deletion that no event has reported counts as seen at the time of the call of permit.
	if err := g.permit(ctx, name("f"), start); err != nil || asked.Load() != 3 {
		t.Errorf("a deletion without an event: %v after %d requests; want another request", err, asked.Load())
	}

	fails.Store(true)
	vanish("g", start)
	if err := g.permit(ctx, name("g"), start); !errors.Is(err, failure) {
		t.Errorf("without an answer: %v", err)
	}
	fails.Store(false)
	if err := g.permit(ctx, name("g"), start); err != nil {
		t.Errorf("the error is reused: %v", err)
	}
	young = crd{}
	vanish("h", start)
	if err := g.permit(ctx, name("h"), start); !errors.Is(err, controllers.ErrHeld) {
		t.Errorf("while the CRD is missing: %v", err)
	}
}
