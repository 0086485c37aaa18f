package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/library"
)

// reconciler keeps the library as the objects of one kind say.
type reconciler struct {
	*Set
	kind kind
}

// Reconcile brings the library, and then the status, to what one object says.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	select {
	case <-r.begun:
	case <-ctx.Done():
		return ctrl.Result{}, ctx.Err()
	}
	o := r.kind.New()
	if err := r.get(ctx, req.NamespacedName, o); apierrors.IsNotFound(err) {
		o.SetNamespace(req.Namespace)
		o.SetName(req.Name)
		r.written.forget(o)
		return ctrl.Result{}, r.gone(ctx, o)
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("get the object: %w", err)
	}
	if !o.GetDeletionTimestamp().IsZero() {
		// Somebody else's finalizer may hold the object for long; what it brought goes now.
		return ctrl.Result{}, r.gone(ctx, o)
	}
	r.Removals.Exists(translate.Owner(r.Install, r.kind.Definition, o))
	before := o.DeepCopyObject().(v1alpha1.Object)
	current := &pass{Set: r.Set, kind: r.kind, object: o}
	if o.Suspended() {
		return r.frozen(ctx, before, current)
	}
	failed := current.serve(ctx)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // the manager is stopping: what failed, failed because of that
	}
	failed = verdict.Refuse(o, failed)
	if current.quiet {
		return r.outcome(current, failed, nil)
	}
	verdict.Summarise(o, current.warnings, failed)
	return r.outcome(current, failed, r.report(ctx, before, current))
}

// frozen reports on a suspended object.
func (r *reconciler) frozen(ctx context.Context, before v1alpha1.Object, current *pass) (ctrl.Result, error) {
	var ended error
	if r.kind.frozen != nil {
		ended = r.kind.frozen(ctx, current)
	}
	var expired *verdict.Refusal
	if ended != nil && !errors.As(ended, &expired) {
		r.Metrics.counted(r.kind, outcomeFailed)
		return ctrl.Result{}, ended
	}
	verdict.Suspend(current.object, expired)
	r.Metrics.counted(r.kind, outcomeSuspended)
	err := r.report(ctx, before, current)
	return r.later(current), err
}

// outcome decides when the object is looked at again.
func (r *reconciler) outcome(current *pass, failed, reported error) (ctrl.Result, error) {
	refused := (*verdict.Refusal)(nil)
	errors.As(failed, &refused)
	switch {
	case failed == nil && reported == nil:
		r.Metrics.counted(r.kind, outcomeServed)
	case refused != nil && refused.Waiting:
		r.Metrics.counted(r.kind, outcomeWaiting)
	case refused != nil:
		r.Metrics.counted(r.kind, outcomeStalled)
	default:
		r.Metrics.counted(r.kind, outcomeFailed)
	}
	if failed != nil && refused == nil {
		return ctrl.Result{}, errors.Join(failed, reported)
	}
	if reported != nil {
		return ctrl.Result{}, reported
	}
	return r.later(current), nil
}

// later says when the object is reconciled again by time alone.
func (r *reconciler) later(current *pass) ctrl.Result {
	if current.after.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(current.after.Sub(r.Clock()), time.Second)}
}

// report patches the status when its meaning changed, and tells of a transition in an event.
func (r *reconciler) report(ctx context.Context, before v1alpha1.Object, current *pass) error {
	o := current.object
	if equality.Semantic.DeepEqual(before, o) {
		return nil
	}
	if other := r.rivals.of(o.GetNamespace()); other != "" && r.kind.Definition != library.KindToken {
		// The status of a token says so: somebody has to decide.
		if r.kind.Definition == library.KindProperty {
			r.Events.Eventf(o, nil, corev1.EventTypeWarning, secondOperatorReason, "Reconcile",
				"Stop one of the two operators: that of store %s writes the statuses in this namespace, and this one has store %s", other, r.Store)
		}
		return nil
	}
	// A merge patch replaces the list of conditions as a whole, so it must fail if another writer has changed the object.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, o, patch); apierrors.IsConflict(err) {
		return client.IgnoreNotFound(r.reread(ctx, current))
	} else if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("patch the status: %w", err))
	}
	r.Metrics.written(o)
	r.written.note(o)
	r.reported.Add(1)
	if was, c := verdict.Ready(before), verdict.Ready(o); was.Status != c.Status || was.Reason != c.Reason {
		level := corev1.EventTypeNormal
		if c.Status == "False" {
			level = corev1.EventTypeWarning
		}
		r.Events.Eventf(o, nil, level, c.Reason, "Reconcile", "%s", text.Cut(c.Message, 1000))
	}
	if a := current.announcement; a.reason != "" {
		r.Events.Eventf(o, nil, corev1.EventTypeNormal, a.reason, "Reconcile", "%s", a.message)
	}
	return nil
}

// reread requeues an object that another writer has changed since it was read. The next round reads past the cache until the
// cache has that change.
func (r *reconciler) reread(ctx context.Context, current *pass) error {
	latest := r.kind.New()
	if err := r.direct.Get(ctx, client.ObjectKeyFromObject(current.object), latest); err != nil {
		return fmt.Errorf("read past the cache: %w", err)
	}
	r.written.note(latest)
	current.wake(r.Clock())
	return nil
}

// gone takes away what an object brought that is not there any more.
func (r *reconciler) gone(ctx context.Context, o v1alpha1.Object) error {
	err := r.remove(ctx, o)
	switch {
	case errors.Is(err, ErrHeld):
		r.Metrics.counted(r.kind, outcomeHeld)
		return nil
	case err != nil:
		r.Metrics.counted(r.kind, outcomeFailed)
		return err
	}
	r.Removals.Removed(translate.Owner(r.Install, r.kind.Definition, o))
	r.Metrics.counted(r.kind, outcomeRemoved)
	return nil
}

// remove takes away what the object brought, and has everyone looked at again who may gain or lose by that.
func (r *reconciler) remove(ctx context.Context, o v1alpha1.Object) error {
	owner := translate.Owner(r.Install, r.kind.Definition, o)
	stored, err := r.Library.Definition(ctx, owner)
	if err != nil && !errors.Is(err, library.ErrNotFound) {
		return fmt.Errorf("look up what the object brought: %w", err)
	}
	if err == nil {
		if err := r.Removals.Permit(ctx, owner, stored.Created); err != nil {
			return fmt.Errorf("keep what the object brought: %w", err)
		}
	}
	if _, err := r.Library.Remove(ctx, []library.Owner{owner}); err != nil {
		return fmt.Errorf("remove what the object brought: %w", err)
	}
	if r.kind.Definition == library.KindToken {
		if err := r.noteRival(ctx, o, ""); err != nil {
			return err
		}
	}
	p := stored.Property
	if p == "" {
		p = translate.PropertyID(o)
	}
	r.waiters.remove(p, owner)
	r.waiters.remove(anyProperty, owner)
	r.waiters.found(owner)
	return r.wakeOthers(ctx, p, owner, nil)
}
