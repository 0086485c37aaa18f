package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// kind is what one of the kinds adds to the shape that all of them share.
type kind struct {
	v1alpha1.Kind
	library library.Kind
	// translate sets def, and warnings where the object has a query; nil: translate.Object does.
	translate func(ctx context.Context, p *pass) error
	// report fills in the status of an object whose definition is applied, but for its counts; nil where there is nothing else.
	report func(ctx context.Context, p *pass) error
	// load translates an object for the bulk load at start; false where there is nothing to load yet. nil: translate does. now is the
	// same for all objects of a load, so that the order of the list gives none of them precedence.
	load func(ctx context.Context, e *environment, o v1alpha1.Object, now time.Time) (library.Definition, bool)
	// frozen checks a suspended object for what ends by time alone; nil where nothing of the kind does.
	frozen func(ctx context.Context, p *pass) error
	// count updates the counts in status; nil where the kind has none.
	count counts.Func
}

// environment is what the reconcilers of one manager share.
type environment struct {
	Options
	metrics *metrics
	client  client.Client
	// direct reads past the cache.
	direct  client.Reader
	events  events.EventRecorder
	install string
	// store names the library: of two operators with a library each, one alone writes a Secret.
	store   string
	gate    <-chan struct{} // closed when the bulk load is in
	waiters *waiters
	queues  *queues
	written *written
	rivals  *rivals
	// versions is how far the caches have come.
	versions *versions
	guards   map[library.Kind]*guard
	holds    *holds
	// reported is how many statuses the reconcilers have written: what a round counts may be old when it is written.
	reported atomic.Uint64
}

// reconciler keeps the library as the objects of one kind say.
type reconciler struct {
	*environment
	kind kind
}

// pass is one pass over one object.
type pass struct {
	*environment
	kind       kind
	object     v1alpha1.Object
	def        library.Definition
	warnings   []query.Warning
	result     library.Result
	credential credential // of an AccessToken
	// after, when not zero, is when the object has to be reconciled again by time alone.
	after time.Time
	// announcement becomes an event once the status is written.
	announcement announcement
	// quiet is true while nothing is reported: what the object waits for is expected soon.
	quiet bool
}

// announcement is a change that an event reports in addition to those of Ready.
type announcement struct{ reason, message string }

// wake makes sure that the object is reconciled again at t at the latest. The zero time means never.
func (p *pass) wake(t time.Time) {
	if !t.IsZero() && (p.after.IsZero() || t.Before(p.after)) {
		p.after = t
	}
}

// translate sets the definition that the object stands for.
func (p *pass) translate(ctx context.Context) (err error) {
	if p.kind.translate != nil {
		return p.kind.translate(ctx, p)
	}
	p.def, p.warnings, err = translate.Object(p.install, p.object)
	return err
}

// serve brings the library, and then the object's status in memory, to what the object says.
func (p *pass) serve(ctx context.Context) error {
	if err := p.translate(ctx); err != nil {
		return err
	}
	if err := p.apply(ctx); err != nil {
		return err
	}
	if p.kind.report != nil {
		if err := p.kind.report(ctx, p); err != nil {
			return err
		}
	}
	if p.kind.count == nil {
		return nil
	}
	_, err := p.kind.count(ctx, &counts.Look{Library: p.Library, Clock: p.Clock}, p.object)
	return err
}

// Reconcile brings the library, and then the status, to what one object says.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	select {
	case <-r.gate:
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
	r.guards[r.kind.library].forget(req.NamespacedName)
	r.holds.drop(translate.Owner(r.install, r.kind.library, o))
	before := o.DeepCopyObject().(v1alpha1.Object)
	current := &pass{environment: r.environment, kind: r.kind, object: o}
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
		r.counted(r.kind, outcomeFailed)
		return ctrl.Result{}, ended
	}
	verdict.Suspend(current.object, expired)
	r.counted(r.kind, outcomeSuspended)
	err := r.report(ctx, before, current)
	return r.later(current), err
}

// outcome decides when the object is looked at again.
func (r *reconciler) outcome(current *pass, failed, reported error) (ctrl.Result, error) {
	refused := (*verdict.Refusal)(nil)
	errors.As(failed, &refused)
	switch {
	case failed == nil && reported == nil:
		r.counted(r.kind, outcomeServed)
	case refused != nil && refused.Waiting:
		r.counted(r.kind, outcomeWaiting)
	case refused != nil:
		r.counted(r.kind, outcomeStalled)
	default:
		r.counted(r.kind, outcomeFailed)
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
	if other := r.rivals.of(o.GetNamespace()); other != "" && r.kind.library != library.KindToken {
		// The status of a token says so: somebody has to decide.
		if r.kind.library == library.KindProperty {
			r.events.Eventf(o, nil, corev1.EventTypeWarning, secondOperatorReason, "Reconcile",
				"Stop one of the two operators: that of store %s writes the statuses in this namespace, and this one has store %s", other, r.store)
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
	r.statusWritten(o)
	r.written.note(o)
	r.reported.Add(1)
	if was, c := verdict.Ready(before), verdict.Ready(o); was.Status != c.Status || was.Reason != c.Reason {
		level := corev1.EventTypeNormal
		if c.Status == "False" {
			level = corev1.EventTypeWarning
		}
		r.events.Eventf(o, nil, level, c.Reason, "Reconcile", "%s", text.Cut(c.Message, 1000))
	}
	if a := current.announcement; a.reason != "" {
		r.events.Eventf(o, nil, corev1.EventTypeNormal, a.reason, "Reconcile", "%s", a.message)
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
	case errors.Is(err, errHeld):
		r.counted(r.kind, outcomeHeld)
		return nil
	case err != nil:
		r.counted(r.kind, outcomeFailed)
		return err
	}
	r.guards[r.kind.library].forget(client.ObjectKeyFromObject(o))
	r.counted(r.kind, outcomeRemoved)
	return nil
}

// remove takes away what the object brought, and has everyone looked at again who may gain or lose by that.
func (r *reconciler) remove(ctx context.Context, o v1alpha1.Object) error {
	owner := translate.Owner(r.install, r.kind.library, o)
	stored, err := r.Library.Definition(ctx, owner)
	if err != nil && !errors.Is(err, library.ErrNotFound) {
		return fmt.Errorf("look up what the object brought: %w", err)
	}
	if err == nil {
		if r.holds.has(owner) {
			return errHeld
		}
		err := r.guards[r.kind.library].permit(ctx, client.ObjectKeyFromObject(o), stored.Created)
		if errors.Is(err, errHeld) {
			r.hold(owner)
		}
		if err != nil {
			return fmt.Errorf("keep what the object brought: %w", err)
		}
	}
	if _, err := r.Library.Remove(ctx, []library.Owner{owner}); err != nil {
		return fmt.Errorf("remove what the object brought: %w", err)
	}
	if r.kind.library == library.KindToken {
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

// apply stores the definition.
func (p *pass) apply(ctx context.Context) error {
	property, owner := p.def.Property, p.def.Owner
	p.waiters.add(property, owner)
	if owner.Kind == library.KindToken {
		p.waiters.add(anyProperty, owner)
	}
	results, err := p.Library.Apply(ctx, []library.Definition{p.def})
	if err != nil {
		return fmt.Errorf("store the definition: %w", err)
	}
	p.result = results[0]
	if errors.Is(p.result.Err, library.ErrNoProperty) {
		if end := p.waiters.misses(owner, p.Clock()).Add(p.PropertyGrace); p.Clock().Before(end) {
			p.quiet = true
			p.wake(end)
		}
	} else {
		p.waiters.found(owner)
	}
	if conflict := (*library.ConflictError)(nil); !errors.As(p.result.Err, &conflict) {
		p.waiters.remove(anyProperty, owner)
	} else if owner.Kind == library.KindToken {
		p.wake(p.Clock().Add(secretInterval)) // the other token may release the value without being served itself
	}
	if p.result.Err != nil {
		p.wakeRivals(property, owner)
		return p.result.Err
	}
	p.waiters.remove(property, owner)
	if !p.result.Changed {
		return nil
	}
	return p.wakeOthers(ctx, property, owner, p.result.Displaced)
}

// wakeRivals requeues the objects that may gain from a definition that was refused: the tag that its object claimed before is
// free, even if the one that the object claims now is not.
func (p *pass) wakeRivals(property library.PropertyID, owner library.Owner) {
	p.queues.add(p.result.Displaced...)
	// Tokens and units are left out. Their definitions carry times and new values, so that refused ones may differ in every
	// pass, and two of them would wake each other endlessly.
	if p.result.Changed && owner.Kind != library.KindToken && owner.Kind != library.KindUnit {
		p.queues.add(p.waiters.others(property, owner)...)
	}
}

// wakeOthers requeues the objects that lost a claim, those that may gain, and, when a Property changed, all that belongs to
// it.
func (e *environment) wakeOthers(ctx context.Context, p library.PropertyID, owner library.Owner, displaced []library.Owner) error {
	e.queues.add(displaced...)
	e.queues.add(e.waiters.others(p, owner)...)
	if owner.Kind == library.KindToken || owner.Kind == library.KindProperty {
		e.queues.add(e.waiters.others(anyProperty, owner)...)
	}
	if owner.Kind != library.KindProperty {
		return nil
	}
	for _, k := range kinds() {
		if k.library == library.KindProperty {
			continue
		}
		err := e.each(ctx, k, client.InNamespace(owner.Namespace), func(o v1alpha1.Object) {
			if o.PropertyName() == owner.Name {
				e.queues.add(translate.Owner(e.install, k.library, o))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// base is the base of the URLs of an object's property.
func (e *environment) base(p library.PropertyID) string {
	if settings, err := e.Library.Property(p); err == nil && settings.ExternalURL != "" {
		return settings.ExternalURL
	}
	return e.ExternalURL
}
