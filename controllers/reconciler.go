package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// reconciler makes the library match the objects of one kind.
type reconciler struct {
	*Set
	kind kind
}

// frozenRetry is the time until the next attempt while the library rejects changes because a migration copies it.
const frozenRetry = 5 * time.Second

// Reconcile applies one object to the library, and then updates the object's status. While the library is frozen, Reconcile requeues the
// object at a constant interval instead of returning the error: controller-runtime would log each error, and its increasing backoff would
// delay the revocation of a token after the freeze.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	r.failures.note(library.Owner{Kind: r.kind.definition, Namespace: req.Namespace, Name: req.Name}, err != nil)
	if _, frozen := errors.AsType[*library.FrozenError](err); frozen {
		return ctrl.Result{RequeueAfter: frozenRetry}, nil
	}
	return result, err
}

func (r *reconciler) reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
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
		r.known.forget(o)
		return ctrl.Result{}, r.gone(ctx, o)
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("get the object: %w", err)
	}
	if !o.GetDeletionTimestamp().IsZero() {
		// Remove the definition now, because a finalizer of another controller may keep the object for a long time.
		return ctrl.Result{}, r.gone(ctx, o)
	}
	r.Removals.Exists(translate.Owner(r.Install, r.kind.definition, o))
	before := o.DeepCopyObject().(v1alpha1.Object)
	current := &pass{Set: r.Set, kind: r.kind, object: o}
	if o.Suspended() {
		return r.frozen(ctx, before, current)
	}
	failed := current.serve(ctx)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // the manager is stopping, which caused the failure
	}
	if errors.Is(failed, library.ErrDeposed) {
		return ctrl.Result{}, failed // the new leader writes the status
	}
	failed = verdict.Refuse(o, failed)
	if current.quiet {
		return r.outcome(current, failed, nil)
	}
	verdict.Summarise(o, current.warnings, failed)
	return r.outcome(current, failed, r.report(ctx, before, current))
}

// frozen writes the status of a suspended object.
func (r *reconciler) frozen(ctx context.Context, before v1alpha1.Object, current *pass) (ctrl.Result, error) {
	r.known.restore(current.object)
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

// outcome counts the outcome of a pass and decides when the object is reconciled again.
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

// later returns the result that requeues the object at current.after, if that is set.
func (r *reconciler) later(current *pass) ctrl.Result {
	if current.after.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(current.after.Sub(r.Clock()), time.Second)}
}

// gone removes the definition of a deleted object, and counts the outcome.
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
	r.Removals.Removed(translate.Owner(r.Install, r.kind.definition, o))
	r.Metrics.counted(r.kind, outcomeRemoved)
	return nil
}

// remove removes the definition of an object, and requeues all objects that the removal may affect.
func (r *reconciler) remove(ctx context.Context, o v1alpha1.Object) error {
	owner := translate.Owner(r.Install, r.kind.definition, o)
	stored, err := r.Library.Definition(ctx, owner)
	if err != nil && !errors.Is(err, library.ErrNotFound) {
		return fmt.Errorf("look up the stored definition: %w", err)
	}
	if err == nil {
		if err := r.Removals.Permit(ctx, owner, stored.Created); err != nil {
			return fmt.Errorf("the definition of the deleted object is kept for now: %w", err)
		}
	}
	if _, err := r.Library.Remove(ctx, []library.Owner{owner}); err != nil {
		return fmt.Errorf("remove the definition: %w", err)
	}
	if r.kind.definition == library.KindToken {
		if err := r.noteRival(ctx, o, ""); err != nil {
			return err
		}
	}
	if r.kind.definition == library.KindWebhook {
		r.Webhooks.Remove(owner)
	}
	p := stored.Property
	if p == "" {
		p = translate.PropertyID(o)
	}
	if r.kind.definition == library.KindProperty {
		r.serving.forget(p)
	}
	r.waiters.remove(p, owner)
	r.waiters.remove(anyProperty, owner)
	r.waiters.found(owner)
	return r.wakeOthers(ctx, p, owner, nil)
}
