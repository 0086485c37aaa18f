package controllers

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// TestContentChangesBeforeStatusWrite checks a content change between the count and the status write of a pass. If the keeper has already
// counted the changed content before the status write, it has to count again after the write. It must do so without another change of the
// content and without waiting for a minute.
func TestContentChangesBeforeStatusWrite(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := filter()
	o.Spec.Query = "approval_status:app"
	var r *reconciler
	var looks atomic.Int64
	eventually := func(what string, done func() bool) {
		t.Helper()
		deadline := time.NewTimer(10 * time.Second)
		defer deadline.Stop()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for !done() {
			select {
			case <-tick.C:
			case <-deadline.C:
				t.Error(what)
				return
			}
		}
	}
	var once sync.Once
	r, server := newReconciler(t, filterKind(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if _, ok := list.(*v1alpha1.ContentFilterList); ok {
				looks.Add(1)
			}
			return err
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, into client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			once.Do(func() {
				put := library.Mutation{Put: &item.Item{
					ID: 1, ApprovalStatus: item.Approved, CreatedOn: "2026-01-01T00:00:00Z", ShortCode: "a",
					Content: item.Content{ContentType: item.Text, Text: "late"},
				}}
				if outcomes, err := r.Library.Write(ctx, property.Property, []library.Mutation{put}); err != nil || outcomes[0].Err != nil {
					t.Errorf("write an item: %v, %v", err, outcomes)
				}
				seen := looks.Load()
				eventually("the keeper does not look at the counts", func() bool { return looks.Load() > seen })
			})
			return c.SubResource(name).Patch(ctx, into, patch, options...)
		},
	}, o)
	ended := make(chan error, 1)
	keeper := counts.Keeper{Library: r.Library, Objects: r, Clock: r.Clock, Interval: time.Millisecond}
	keeper.Stopwatch = func() time.Time { return start } // each look appears to take 0 seconds, so the keeper never rests
	go func() { ended <- keeper.Run(ctx) }()
	eventually("the keeper does not look at the counts", func() bool { return looks.Load() > 0 })

	if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
		t.Fatal(err)
	}
	eventually("the item is not counted", func() bool {
		now := &v1alpha1.ContentFilter{}
		if err := server.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
			t.Fatal(err)
		}
		return now.Status.MatchedItems != nil && *now.Status.MatchedItems == 1
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
