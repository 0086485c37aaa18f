package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/webhooks"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=webhooks,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=webhooks/status,verbs=patch

func webhookKind() kind {
	return kind{
		identity:  identify(library.KindWebhook),
		translate: translateWebhook, report: reportWebhook, load: loadWebhook, frozen: reportFrozenWebhook, watch: watchRequests,
	}
}

// signing is the signing secret of a Webhook during one pass.
type signing struct {
	subject tokens.Subject
	keys    tokens.Keys
}

// translateWebhook sets the definition of a Webhook, and reads its signing secret from the Secret, or generates a new one. The operator reads
// the Secret from the API server, because the cache contains only the Secrets of AccessTokens. It repeats this after secretInterval, which
// also finds out whether the manifest of the filter adopts another filter.
//
// The definition comes first, because it refuses a name that is too long for a Secret: the API server accepts no such name in a status.
func translateWebhook(ctx context.Context, p *pass) (err error) {
	o := p.object.(*v1alpha1.Webhook)
	p.wake(p.Clock().Add(secretInterval))
	if p.def, p.warnings, err = p.webhook(ctx, o); err != nil {
		return err
	}
	o.Status.SecretName = tokens.KeysName(o)
	return p.readKeys(ctx, o)
}

// webhook translates a Webhook. If the manifest of its filter adopts an existing filter, it refers to that filter.
func (s *Set) webhook(ctx context.Context, o *v1alpha1.Webhook) (library.Definition, []query.Warning, error) {
	d, warnings, err := translate.Webhook(s.Install, o)
	if err != nil || o.Spec.FilterRef == nil {
		return d, warnings, err
	}
	uuids, err := s.filterUUIDs(ctx, o, []string{o.Spec.FilterRef.Name})
	if len(uuids) > 0 {
		d.Webhook.FilterUUID = uuids[0]
	}
	return d, warnings, err
}

// loadWebhook translates a Webhook without its signing secret, which the store does not contain.
func loadWebhook(ctx context.Context, s *Set, o v1alpha1.Object, _ time.Time) (library.Definition, bool) {
	d, _, err := s.webhook(ctx, o.(*v1alpha1.Webhook))
	return d, err == nil
}

// readKeys sets the signing secrets that the Webhook has from now on.
func (p *pass) readKeys(ctx context.Context, o *v1alpha1.Webhook) (err error) {
	p.signing.subject = tokens.Subject{Webhook: o, Store: p.Store, Now: p.Clock()}
	secret := &corev1.Secret{}
	err = p.direct.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: tokens.KeysName(o)}, secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Secret %s: %w", tokens.KeysName(o), err)
	}
	if err == nil {
		p.signing.subject.Secret = secret
	}
	p.signing.keys, err = tokens.NextKeys(p.signing.subject)
	return err
}

// reportWebhook writes the Secret, and then lets the server deliver, so that a receiver can know every signing secret before its first use.
func reportWebhook(ctx context.Context, p *pass) error {
	o, keys := p.object.(*v1alpha1.Webhook), p.signing.keys
	o.Status.LastRotation = nil
	if o.Spec.ExistingSecret == nil {
		if err := p.writeKeys(ctx); err != nil {
			return err
		}
		o.Status.LastRotation = &metav1.Time{Time: keys.Issued}
		p.wake(keys.RotationDue(o.Spec))
		p.wake(keys.Overlap)
	}
	return p.deliver(o, p.def)
}

// writeKeys creates or updates the Secret of a Webhook if its content differs from the desired content.
func (p *pass) writeKeys(ctx context.Context) error {
	secret, changed := tokens.KeysSecret(p.signing.subject, p.signing.keys)
	if !changed {
		return nil
	}
	write := func() error { return p.client.Update(ctx, secret) }
	if p.signing.subject.Secret == nil {
		write = func() error { return p.client.Create(ctx, secret) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("write Secret %s: %w", secret.Name, err)
	}
	return nil
}

// watchRequests adds a watch that requeues a Webhook when an annotation changes, because annotations request tests and replays.
func watchRequests(_ *Set, _ manager.Manager, b *builder.Builder) error {
	b.Watches(&v1alpha1.Webhook{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicate.AnnotationChangedPredicate{}))
	return nil
}

// deliver lets the server deliver as a definition says, and reports whether deliveries succeed, and what has become of requests.
func (p *pass) deliver(o *v1alpha1.Webhook, d library.Definition) error {
	hook := webhooks.Webhook{Definition: d, Keys: p.signing.keys.Bytes(), BaseURL: p.base(d.Property)}
	request(o, &hook)
	if err := p.Webhooks.Serve(hook); err != nil {
		return err
	}
	s := p.Webhooks.State(d.Owner)
	reportDeliveries(o, s)
	if s.Test != nil && s.Test.Request == hook.Test {
		o.Status.LastTest = &v1alpha1.WebhookTest{Request: s.Test.Request, Time: timeOf(s.Test.At), Problem: s.Test.Problem}
	}
	if s.Replay != nil && s.Replay.Request == hook.Replay {
		o.Status.LastReplay = &v1alpha1.WebhookReplay{Request: s.Replay.Request, Time: timeOf(s.Replay.At), From: timeOf(s.Replay.From)}
	}
	return nil
}

// maxRequest is the maximum length of an annotation that requests something. The status contains its value.
const maxRequest = 64

// request sets what the annotations of a Webhook request. The status records which test was the last one, and the mark in the library records
// the last replay. A value that is not valid requests nothing.
func request(o *v1alpha1.Webhook, hook *webhooks.Webhook) {
	switch value := o.Annotations[v1alpha1.TestAnnotation]; {
	case len(value) > maxRequest:
		o.Status.LastTest = &v1alpha1.WebhookTest{
			Problem: fmt.Sprintf("the annotation %s has more than %d bytes", v1alpha1.TestAnnotation, maxRequest),
		}
	case o.Status.LastTest == nil || o.Status.LastTest.Request != value:
		hook.Test = value
	}
	value := o.Annotations[v1alpha1.ReplaySinceAnnotation]
	if value == "" {
		return
	}
	since, err := time.Parse(time.RFC3339, value)
	if err != nil || len(value) > maxRequest {
		o.Status.LastReplay = &v1alpha1.WebhookReplay{
			Problem: fmt.Sprintf("the annotation %s must be a time in the format of RFC 3339, such as 2026-11-27T12:00:00Z", v1alpha1.ReplaySinceAnnotation),
		}
		return
	}
	hook.Replay, hook.ReplaySince = value, since
}

// timeOf returns a time for a status, or nil for the zero time.
func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

// reportDeliveries reports whether the deliveries of a Webhook succeed. Before the first attempt after a start, the condition stays. A failure
// does not affect Ready: the server does what the spec says, and a GitOps tool must not report a failed sync because of a receiver.
func reportDeliveries(o *v1alpha1.Webhook, s webhooks.State) {
	reason, cure := "", ""
	switch s.Result {
	case webhooks.Failed:
		reason, cure = v1alpha1.ReasonDeliveryFailed, "the server retries"
	case webhooks.Refused:
		reason, cure = v1alpha1.ReasonAddressRefused, "correct spec.url, or permit the host with --webhook-allow-host of the server"
	case webhooks.Stopped:
		reason, cure = v1alpha1.ReasonDeliveryStopped, "correct spec.url, run kubectl vitrine webhook replay, or delete the object"
	case webhooks.FilterAbsent:
		reason, cure = v1alpha1.ReasonFilterNotFound, "apply the ContentFilter, or correct spec.filterRef"
	case webhooks.Delivered:
	}
	if reason == "" {
		if s.Result == webhooks.Delivered || meta.FindStatusCondition(o.Status.Conditions, v1alpha1.DeliveringCondition) == nil {
			verdict.Delivering(o, v1alpha1.ReasonDelivering, "No changes wait because of a failed delivery.")
		}
		return
	}
	waiting := "Changes wait"
	switch n := text.Thousands(s.Waiting); {
	case s.Waiting == 0:
	case s.More:
		waiting = n + " or more changes wait"
	case s.Waiting == 1:
		waiting = "1 change waits"
	default:
		waiting = n + " changes wait"
	}
	verdict.Delivering(o, reason, fmt.Sprintf("%s, because %s: %s.", waiting, s.Problem, cure))
}

// reportFrozenWebhook continues the deliveries of a suspended Webhook by its stored definition. It uses the signing secrets in the Secret, but
// writes no new one.
func reportFrozenWebhook(ctx context.Context, p *pass) error {
	o := p.object.(*v1alpha1.Webhook)
	stored, err := p.Stored(ctx, translate.Owner(p.Install, library.KindWebhook, o))
	if err != nil || stored == nil || stored.Webhook == nil {
		return err
	}
	paused := o.DeepCopy()
	paused.Spec.Rotation = nil
	if err := p.readKeys(ctx, paused); err != nil {
		return err
	}
	if secret := p.signing.subject.Secret; secret == nil || o.Spec.ExistingSecret == nil && string(secret.Data[tokens.SigningKey]) != p.signing.keys.Current {
		return nil // the Secret has no usable signing secret, and a suspended object writes none
	}
	return p.deliver(o, *stored)
}
