package controllers

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=accesstokens,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=accesstokens/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update

// The keys of a Secret that the operator writes: the token's value, the base of the HTTP interface and, where the server made
// its own certificate, the certificate of its authority in PEM.
const (
	TokenKey = "token"
	URLKey   = "url"
	CAKey    = "ca.crt"
)

const (
	// TokenLabel is on every Secret that is cached and watched: those that the operator writes, and those existingSecrets
	// on which somebody puts it, with the name of the AccessToken (63 characters at most), to have a change of the value
	// seen at once. One without it is read again every minute.
	TokenLabel = "vitrine.dev/access-token"
	// issuedAnnotation holds the time of issue of the value in a Secret of ours, RFC 3339.
	issuedAnnotation = "vitrine.dev/issued-at"
	// storeAnnotation names the store of the operator that writes the Secret.
	storeAnnotation = "vitrine.dev/store"

	secretInterval = time.Minute

	// tokenBytes of randomness make a token: 256 bits, 43 characters.
	tokenBytes = 32
)

func tokenKind() kind {
	return kind{
		library: library.KindToken,
		new:     func() object { return &v1alpha1.AccessToken{} },
		list:    func() client.ObjectList { return &v1alpha1.AccessTokenList{} },
		steps:   []step{reconcileToken},
		load:    loadToken,
		frozen:  reportExpiry,
	}
}

// credential is a token's value, and where it stands.
type credential struct {
	text   string // "" when the Secret holds none that can be used
	issue  translate.Issue
	secret *corev1.Secret // the Secret of ours; nil for an existingSecret, and before it is made
}

// reconcileToken finds or makes the value, stores its digest, and only then writes the Secret: a value that can be read
// works already. The old value of a rotation expires by the clock.
func reconcileToken(ctx context.Context, r *round) error {
	o := r.object.(*v1alpha1.AccessToken)
	stored, err := r.stored(ctx, translate.Owner(r.install, library.KindToken, o))
	if err != nil {
		return err
	}
	now := r.Clock()
	var current *credential
	var replaced *translate.Issue
	if o.Spec.ExistingSecret != nil {
		r.wake(now.Add(secretInterval))
		if current, err = r.existing(ctx, o, stored); err != nil {
			return err
		}
		o.Status.SecretName = o.Spec.ExistingSecret.Name
	} else {
		if current, err = r.own(ctx, o); err != nil {
			r.wake(now.Add(secretInterval)) // a foreign Secret is not watched: look whether it has gone
			return err
		}
		if current == nil || current.text == "" || rotationDue(o, current, now) {
			next, err := newCredential(now)
			if err != nil {
				return err
			}
			if current != nil {
				next.secret = current.secret
				if current.text != "" {
					replaced = &current.issue
				}
			}
			current = next
		}
		o.Status.SecretName = secretName(o)
	}
	filters, err := r.filterUUIDs(ctx, o)
	if err != nil {
		return err
	}
	r.def = translate.AccessToken(r.install, o, translate.TokenValues(o.Spec, current.issue, replaced, valuesOf(stored), now), filters)
	if err := apply(ctx, r); err != nil {
		if conflict := (*library.ConflictError)(nil); errors.As(err, &conflict) {
			r.wake(now.Add(secretInterval)) // the other token may release the value without being served itself
		}
		return err
	}
	if o.Spec.ExistingSecret == nil {
		if err := r.writeSecret(ctx, o, current); err != nil {
			return err
		}
	}
	return reportToken(r, o, current, now)
}

func reportToken(r *round, o *v1alpha1.AccessToken, current *credential, now time.Time) error {
	o.Status.LastRotation = &metav1.Time{Time: current.issue.At}
	o.Status.ExpiresAt = nil
	r.wake(current.issue.RotationDue(o.Spec))
	for _, v := range r.def.Token.Values {
		if v.Expires.After(now) {
			r.wake(v.Expires)
		}
	}
	expires := current.issue.Expires(o.Spec)
	if expires.IsZero() {
		return nil
	}
	o.Status.ExpiresAt = &metav1.Time{Time: expires}
	if !expires.After(now) {
		return expired(expires, fmt.Sprintf("Delete Secret %s for a new value, or raise spec.expiresAfter", o.Status.SecretName))
	}
	return nil
}

// expired says that a value expired at a time, and what to do.
func expired(at time.Time, cure string) error {
	return &verdict.Refusal{Reason: v1alpha1.ReasonExpired, Cure: cure, Problem: "the value expired at " + at.UTC().Format(time.RFC3339)}
}

// reportExpiry reports when the value of a suspended token has expired. The stored definition says when that is: a newer
// spec.expiresAfter is not applied.
func reportExpiry(ctx context.Context, r *round) error {
	stored, err := r.stored(ctx, translate.Owner(r.install, library.KindToken, r.object))
	if err != nil {
		return err
	}
	values := valuesOf(stored)
	if len(values) == 0 || values[0].Expires.IsZero() {
		return nil
	}
	at := values[0].Expires
	if !at.After(r.Clock()) {
		return expired(at, "Set spec.suspend to false, and then delete the Secret for a new value or raise spec.expiresAfter")
	}
	r.wake(at)
	return nil
}

// loadToken loads a token from the Secret that it already has; one without is left to its reconciler, which writes it.
func loadToken(ctx context.Context, e *environment, o object, now time.Time) (library.Definition, bool) {
	t := o.(*v1alpha1.AccessToken)
	stored, err := e.stored(ctx, translate.Owner(e.install, library.KindToken, t))
	if err != nil {
		return library.Definition{}, false
	}
	var current *credential
	if t.Spec.ExistingSecret != nil {
		current, err = e.existing(ctx, t, stored)
	} else {
		current, err = e.own(ctx, t)
	}
	if err != nil || current == nil || current.text == "" {
		return library.Definition{}, false
	}
	filters, err := e.filterUUIDs(ctx, t)
	if err != nil {
		return library.Definition{}, false
	}
	values := translate.TokenValues(t.Spec, current.issue, nil, valuesOf(stored), now)
	return translate.AccessToken(e.install, t, values, filters), true
}

func valuesOf(d *library.Definition) []library.TokenValue {
	if d == nil || d.Token == nil {
		return nil
	}
	return d.Token.Values
}

func secretName(o *v1alpha1.AccessToken) string {
	return cmp.Or(o.Spec.SecretName, o.Name)
}

func rotationDue(o *v1alpha1.AccessToken, c *credential, now time.Time) bool {
	due := c.issue.RotationDue(o.Spec)
	return !due.IsZero() && !now.Before(due)
}

func newCredential(now time.Time) (*credential, error) {
	b := make([]byte, tokenBytes)
	if _, err := rand.Read(b); err != nil {
		return nil, fmt.Errorf("draw a token: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(b)
	// Seconds are what the Secret's annotation keeps.
	return &credential{text: text, issue: translate.NewIssue(text, now.UTC().Truncate(time.Second))}, nil
}

// own returns the value in the operator's own Secret; nil when there is no Secret yet.
func (e *environment) own(ctx context.Context, o *v1alpha1.AccessToken) (*credential, error) {
	key := types.NamespacedName{Namespace: o.Namespace, Name: secretName(o)}
	secret := &corev1.Secret{}
	err := e.get(ctx, 0, key, secret)
	if apierrors.IsNotFound(err) {
		// The cache holds labelled Secrets alone: a Secret that somebody else made is only seen by asking.
		err = e.direct.Get(ctx, key, secret)
	}
	if apierrors.IsNotFound(err) {
		return nil, e.heed(ctx, o, "")
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", key.Name, err)
	}
	if !metav1.IsControlledBy(secret, o) {
		if forerunner(secret, o) {
			return nil, &verdict.Refusal{
				Reason: v1alpha1.ReasonSecretConflict, Waiting: true, Cure: "Nothing to do but wait",
				Problem: fmt.Sprintf("Secret %s belongs to an AccessToken of this name that was deleted, and goes with it", key.Name),
			}
		}
		return nil, verdict.Conflict(v1alpha1.ReasonSecretConflict, "Choose another spec.secretName, or delete Secret "+key.Name,
			"it does not belong to this AccessToken and is left as it is")
	}
	other := secret.Annotations[storeAnnotation]
	if err := e.heed(ctx, o, other); err != nil {
		return nil, err
	}
	if other != "" && other != e.store {
		return nil, verdict.Conflict(v1alpha1.ReasonSecretConflict,
			fmt.Sprintf("Stop one of the two operators, or hand the Secret over with kubectl annotate secret -n %s %s %s-", key.Namespace, key.Name, storeAnnotation),
			fmt.Sprintf("the operator of store %s writes it, and this one has store %s", other, e.store))
	}
	text, err := translate.TokenText(secret.Data[TokenKey])
	if errors.Is(err, translate.ErrTokenValue) {
		return &credential{secret: secret}, nil // somebody spoilt it: another value is issued
	}
	issued, err := time.Parse(time.RFC3339, secret.Annotations[issuedAnnotation])
	if err != nil {
		issued = secret.CreationTimestamp.UTC()
	}
	return &credential{text: text, issue: translate.NewIssue(text, issued), secret: secret}, nil
}

// forerunner reports whether a Secret is what an AccessToken of the same name left behind: one that was pruned and applied
// again is faster than the garbage collector.
func forerunner(secret *corev1.Secret, o *v1alpha1.AccessToken) bool {
	c := metav1.GetControllerOf(secret)
	return c != nil && c.Kind == v1alpha1.AccessTokenKind && c.Name == o.Name && c.UID != o.UID
}

// existing returns the value in the Secret that spec.existingSecret names. Its issue is when the operator first saw it.
func (e *environment) existing(ctx context.Context, o *v1alpha1.AccessToken, stored *library.Definition) (*credential, error) {
	ref := o.Spec.ExistingSecret
	if err := e.heed(ctx, o, ""); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	if err := e.direct.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: ref.Name}, secret); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read Secret %s: %w", ref.Name, err)
	}
	value, ok := secret.Data[ref.Key]
	if !ok {
		return nil, &verdict.Refusal{
			Reason: v1alpha1.ReasonSecretNotFound, Waiting: true,
			Cure: fmt.Sprintf("Create Secret %s with the key %s", ref.Name, ref.Key), Problem: "this object waits for it",
		}
	}
	text, err := translate.TokenText(value)
	if err != nil {
		return nil, &verdict.Refusal{
			Reason: v1alpha1.ReasonSecretInvalid,
			Cure:   fmt.Sprintf("Put another value into Secret %s, key %s", ref.Name, ref.Key), Problem: err.Error(), Cause: err,
		}
	}
	c := &credential{text: text, issue: translate.NewIssue(text, e.Clock().UTC().Truncate(time.Second))}
	for _, v := range valuesOf(stored) {
		switch {
		case v.Digest != c.issue.Digest:
		case !v.Since.IsZero():
			c.issue.At = v.Since.Truncate(time.Second)
		case o.Status.LastRotation != nil:
			c.issue.At = o.Status.LastRotation.UTC()
		}
	}
	return c, nil
}

// writeSecret writes what is to stand in the operator's own Secret, when it does not stand there.
func (r *round) writeSecret(ctx context.Context, o *v1alpha1.AccessToken, c *credential) error {
	secret := c.secret
	if secret == nil {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: secretName(o)}}
	}
	secret = secret.DeepCopy()
	changed := setValue(&secret.Labels, TokenLabel, labelValue(o.Name))
	changed = setValue(&secret.Annotations, storeAnnotation, r.store) || changed
	changed = setValue(&secret.Annotations, issuedAnnotation, c.issue.At.UTC().Format(time.RFC3339)) || changed
	want := map[string]string{TokenKey: c.text, URLKey: r.base(r.def.Property), CAKey: string(r.CABundle)}
	for key, value := range want {
		if value == "" {
			_, there := secret.Data[key]
			delete(secret.Data, key)
			changed = changed || there
			continue
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		if string(secret.Data[key]) != value {
			secret.Data[key] = []byte(value)
			changed = true
		}
	}
	if c.secret == nil {
		if err := controllerutil.SetControllerReference(o, secret, r.client.Scheme(), controllerutil.WithBlockOwnerDeletion(false)); err != nil {
			return fmt.Errorf("own Secret %s: %w", secret.Name, err)
		}
		if err := r.client.Create(ctx, secret); err != nil {
			return fmt.Errorf("create Secret %s: %w", secret.Name, err)
		}
		r.written.note(0, secret)
		return nil
	}
	if !changed {
		return nil
	}
	if err := r.client.Update(ctx, secret); err != nil {
		return fmt.Errorf("update Secret %s: %w", secret.Name, err)
	}
	r.written.note(0, secret)
	return nil
}

// labelValue is the value of TokenLabel for an AccessToken: its name, cut to what a label can hold. Nothing is looked up by
// it on a Secret of ours, which names its AccessToken as its controller.
func labelValue(name string) string {
	if len(name) > validation.LabelValueMaxLength {
		name = strings.TrimRight(name[:validation.LabelValueMaxLength], "-.")
	}
	return name
}

func setValue(m *map[string]string, key, value string) bool {
	if (*m)[key] == value {
		return false
	}
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
	return true
}

// filterUUIDs resolves spec.filters. A filter that is not there yet has the UUID that it will have, and grants nothing
// until then; one that adopts has the UUID of the filter that it took over.
func (e *environment) filterUUIDs(ctx context.Context, o *v1alpha1.AccessToken) ([]string, error) {
	var uuids []string
	for _, name := range o.Spec.Filters {
		f := &v1alpha1.ContentFilter{}
		err := e.client.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: name}, f)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("look up ContentFilter %s: %w", name, err)
		}
		if err == nil && f.PropertyName() != o.PropertyName() {
			continue
		}
		if err == nil && f.Spec.Adopt != nil {
			record, err := e.Library.Filter(translate.PropertyID(o), library.FilterRef{ID: f.Spec.Adopt.FilterID})
			if errors.Is(err, library.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look up the filter that %s adopts: %w", name, err)
			}
			uuids = append(uuids, record.UUID)
			continue
		}
		uuid, _ := library.FilterIDs(translate.PropertyID(o), library.KindFilter, o.Namespace, name)
		uuids = append(uuids, uuid)
	}
	return uuids, nil
}
