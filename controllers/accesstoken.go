package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=accesstokens,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=accesstokens/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update;delete

// scopeRemovedReason is the reason of the event which reports that nothing limits the items that an AccessToken reads any more.
const scopeRemovedReason = "ScopeRemoved"

// secretInterval is the maximum time between two reconciles of a token whose Secret the operator may not be watching.
const secretInterval = time.Minute

func tokenKind() kind {
	return kind{
		identity:  identify(library.KindToken),
		translate: translateToken, report: reportToken, load: loadToken, frozen: reportFrozenToken, watch: watchSecrets,
	}
}

// credential is the value of an AccessToken during one pass.
type credential struct {
	subject tokens.Subject
	value   tokens.Value
}

// translateToken sets the definition of a token. It reads the token's value from the Secret, or generates a new value. The pass stores the
// digest of a new value before it writes the value to the Secret, so that the server accepts every value that a client can read. A value
// that a rotation has replaced needs no further pass to expire, because the stored definition contains its expiry time.
func translateToken(ctx context.Context, p *pass) error {
	o := p.object.(*v1alpha1.AccessToken)
	s, current, err := p.readToken(ctx, o)
	if err != nil || o.Spec.ExistingSecret != nil {
		p.wake(p.Clock().Add(secretInterval)) // the operator watches an existing Secret only if it has tokens.Label
	}
	if err != nil {
		return err
	}
	next, replaced := tokens.Next(s, current)
	o.Status.SecretName = tokens.SecretName(o)
	filters, err := p.filterUUIDs(ctx, o, o.Spec.Filters)
	if err != nil {
		return err
	}
	p.credential = credential{s, next}
	p.def, p.warnings, err = translate.AccessToken(p.Install, o, translate.TokenValues(o.Spec, next.Issue, replaced, s.Stored, s.Now), filters)
	return err
}

// reportToken writes the Secret, and reports in the status what limits the token's reads, whether its subjects have an effect, when the
// value was issued and when it expires.
func reportToken(ctx context.Context, p *pass) error {
	o, issue, now := p.object.(*v1alpha1.AccessToken), p.credential.value.Issue, p.credential.subject.Now
	if err := p.reportScope(p.def); err != nil {
		return err
	}
	verdict.Subjects(o, p.def.Token, p.Login)
	if o.Spec.ExistingSecret == nil {
		if err := p.writeSecret(ctx); err != nil {
			return err
		}
	}
	if err := p.removePrevious(ctx); err != nil {
		return err
	}
	o.Status.LastRotation = &metav1.Time{Time: issue.At}
	o.Status.ExpiresAt = nil
	p.wake(issue.RotationDue(o.Spec))
	for _, v := range p.def.Token.Values {
		if v.Expires.After(now) {
			p.wake(v.Expires)
		}
	}
	expires := issue.Expires(o.Spec)
	if !expires.IsZero() {
		o.Status.ExpiresAt = &metav1.Time{Time: expires}
	}
	return tokens.Expired(expires, now, fmt.Sprintf("delete Secret %s to get a new value, or raise spec.expiresAfter", o.Status.SecretName))
}

// writeSecret creates or updates the Secret of a token if its content differs from the desired content.
func (p *pass) writeSecret(ctx context.Context) error {
	s := p.credential.subject
	secret, changed := tokens.Secret(s, p.credential.value, p.base(p.def.Property), string(p.CABundle))
	verb, write := "update", func() error { return p.client.Update(ctx, secret) }
	if s.Secret == nil {
		verb, write = "create", func() error { return p.client.Create(ctx, secret) }
	}
	if !changed {
		return nil
	}
	if err := write(); err != nil {
		return fmt.Errorf("%s Secret %s: %w", verb, secret.Name, err)
	}
	p.written.note(secret)
	return nil
}

// removePrevious deletes the Secrets that the operator has written under names that the spec no longer contains, when their values are no
// longer accepted.
func (p *pass) removePrevious(ctx context.Context) error {
	for _, secret := range tokens.Obsolete(p.credential.subject, p.def.Token.Values) {
		err := p.client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
		if apierrors.IsNotFound(err) {
			continue // the cache does not show the deletion yet
		}
		if err != nil {
			return fmt.Errorf("delete the previous Secret %s: %w", secret.Name, err)
		}
		p.Events.Eventf(p.object, nil, corev1.EventTypeNormal, "SecretRemoved", "Reconcile",
			"Deleted Secret %s, because this AccessToken no longer names it and its value is no longer accepted.", secret.Name)
	}
	return nil
}

// reportScope reports what limits the token's reads, and announces that a limit is gone. It takes the scope of the Property from the library,
// because that is the scope that the server enforces: the newest spec of the Property may be invalid or suspended. A change of the served
// Property requeues its tokens.
func (p *pass) reportScope(d library.Definition) error {
	property, err := p.Library.Property(d.Property)
	if err == nil && !property.Admits(d) {
		err = library.UnknownProperty(d.Property) // the scope would tell that the Property exists
	}
	if err != nil {
		return fmt.Errorf("look up the Property: %w", err)
	}
	o := p.object.(*v1alpha1.AccessToken)
	before := o.Status.Scope
	verdict.Scope(o, d.Token, property.ReadOnlyQuery)
	if before != "" && before != v1alpha1.ScopeAllItems && o.Status.Scope == v1alpha1.ScopeAllItems {
		p.announcement = announcement{scopeRemovedReason, fmt.Sprintf("The token reads all items from now on: its scope was %s, and is AllItems", before)}
	}
	return nil
}

// reportFrozenToken reports what limits the reads of a suspended token and whether its subjects have an effect, and returns a refusal if its
// value has expired. It takes all of this from the stored definition, because a newer spec is not applied during a suspension.
func reportFrozenToken(ctx context.Context, p *pass) error {
	stored, err := p.Stored(ctx, translate.Owner(p.Install, library.KindToken, p.object))
	if err != nil || stored == nil || stored.Token == nil {
		return err
	}
	verdict.Subjects(p.object.(*v1alpha1.AccessToken), stored.Token, p.Login)
	if err := p.reportScope(*stored); err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	if len(stored.Token.Values) == 0 {
		return nil
	}
	now, expires := p.Clock(), stored.Token.Values[0].Expires
	if expires.After(now) {
		p.wake(expires)
	}
	return tokens.Expired(expires, now, "set spec.suspend to false, and then delete the Secret to get a new value, or raise spec.expiresAfter")
}

// loadToken translates a token with the value in its Secret. It returns false if the Secret has no usable value. The reconciler then
// generates a value or reports the problem.
func loadToken(ctx context.Context, s *Set, o v1alpha1.Object, now time.Time) (library.Definition, bool) {
	t := o.(*v1alpha1.AccessToken)
	subject, current, err := s.readToken(ctx, t)
	if err != nil || current.Text == "" {
		return library.Definition{}, false
	}
	filters, err := s.filterUUIDs(ctx, t, t.Spec.Filters)
	if err != nil {
		return library.Definition{}, false
	}
	d, _, err := translate.AccessToken(s.Install, t, translate.TokenValues(t.Spec, current.Issue, nil, subject.Stored, now), filters)
	return d, err == nil
}

// readToken returns the input of the token's policies, and the value in its Secret (see tokens.Read).
func (s *Set) readToken(ctx context.Context, o *v1alpha1.AccessToken) (subject tokens.Subject, current tokens.Value, err error) {
	subject = tokens.Subject{Token: o, Store: s.Store, Now: s.Clock()}
	if subject.Stored, err = s.storedValues(ctx, o); err != nil {
		return subject, current, err
	}
	if subject.Secret, err = s.secretOf(ctx, o); err != nil {
		return subject, current, err
	}
	if subject.Previous, err = s.previousSecrets(ctx, o); err != nil {
		return subject, current, err
	}
	if writer, known := tokens.Writer(subject); known {
		if err := s.noteRival(ctx, o, writer); err != nil {
			return subject, current, err
		}
	}
	current, err = tokens.Read(subject)
	return subject, current, err
}

// secretOf returns the Secret of a token, or nil if there is none. It reads spec.existingSecret from the API server. It reads any other
// Secret from the cache or, because the cache contains only Secrets with tokens.Label, from the API server.
func (s *Set) secretOf(ctx context.Context, o *v1alpha1.AccessToken) (*corev1.Secret, error) {
	key := types.NamespacedName{Namespace: o.Namespace, Name: tokens.SecretName(o)}
	secret := &corev1.Secret{}
	ask := o.Spec.ExistingSecret != nil
	var err error
	if !ask {
		err = s.get(ctx, key, secret)
		ask = apierrors.IsNotFound(err)
	}
	if ask {
		err = s.direct.Get(ctx, key, secret)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", key.Name, err)
	}
	return secret, nil
}

// previousSecrets returns the Secrets that this operator has written for a token and that the spec does not name.
func (s *Set) previousSecrets(ctx context.Context, o *v1alpha1.AccessToken) ([]*corev1.Secret, error) {
	list := &corev1.SecretList{}
	err := s.client.List(ctx, list, client.InNamespace(o.Namespace), client.MatchingFields{controllerIndex: string(o.UID)})
	if err != nil {
		return nil, fmt.Errorf("list the Secrets of the token: %w", err)
	}
	var previous []*corev1.Secret
	for i := range list.Items {
		if secret := &list.Items[i]; secret.Annotations[tokens.StoreAnnotation] == s.Store && secret.Name != tokens.SecretName(o) {
			previous = append(previous, secret)
		}
	}
	return previous, nil
}

// storedValues returns the values that the library accepts for a token, beginning with the current value.
func (s *Set) storedValues(ctx context.Context, o *v1alpha1.AccessToken) ([]library.TokenValue, error) {
	stored, err := s.Stored(ctx, translate.Owner(s.Install, library.KindToken, o))
	if err != nil || stored == nil || stored.Token == nil {
		return nil, err
	}
	return stored.Token.Values, nil
}

// filterUUIDs resolves names of ContentFilters, which are in the namespace of the Property of o, to UUIDs. For a filter that does not exist yet, it
// returns the UUID that the filter will have, which grants nothing until the filter exists. For a manifest that adopts an existing filter, it
// returns the UUID of the adopted filter. filterUUIDs leaves out filters of other properties.
func (s *Set) filterUUIDs(ctx context.Context, o v1alpha1.Object, names []string) ([]string, error) {
	var uuids []string
	for _, name := range names {
		f := &v1alpha1.ContentFilter{}
		err := s.client.Get(ctx, types.NamespacedName{Namespace: o.PropertyNamespace(), Name: name}, f)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("look up ContentFilter %s: %w", name, err)
		}
		uuid, _ := library.FilterIDs(translate.PropertyID(o), library.KindFilter, o.PropertyNamespace(), name)
		if err == nil && translate.PropertyID(f) != translate.PropertyID(o) {
			continue
		}
		if err == nil && f.Spec.Adopt != nil {
			record, err := s.Library.Filter(translate.PropertyID(o), library.FilterRef{ID: f.Spec.Adopt.FilterID})
			if errors.Is(err, library.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look up the filter that %s adopts: %w", name, err)
			}
			uuid = record.UUID
		}
		uuids = append(uuids, uuid)
	}
	return uuids, nil
}
