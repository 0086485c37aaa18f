package tokens

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Subject is an AccessToken or a Webhook with everything that the policies evaluate.
type Subject struct {
	// Token is the AccessToken. For a Webhook, Webhook is set instead, and so are only Secret, Store and Now.
	Token   *v1alpha1.AccessToken
	Webhook *v1alpha1.Webhook
	// Secret is the Secret named SecretName or KeysName on the API server; nil if there is none.
	Secret *corev1.Secret
	// Previous are the other Secrets that this operator has written for the token. Such a Secret exists after a change of the name in the
	// spec, until its value is no longer accepted.
	Previous []*corev1.Secret
	// Stored contains the values that the library accepts for the token, beginning with the current value.
	Stored []library.TokenValue
	// Store is the name of this operator's store.
	Store string
	// Now is the time of the decision.
	Now time.Time
}

// object returns the object whose Secret this is, kind its kind, and existing its spec.existingSecret.
func (s Subject) object() v1alpha1.Object {
	if s.Webhook != nil {
		return s.Webhook
	}
	return s.Token
}

func (s Subject) kind() string {
	if s.Webhook != nil {
		return v1alpha1.WebhookKind
	}
	return v1alpha1.AccessTokenKind
}

func (s Subject) existing() *v1alpha1.SecretKeyReference {
	if s.Webhook != nil {
		return s.Webhook.Spec.ExistingSecret
	}
	return s.Token.Spec.ExistingSecret
}

// refuse returns a *verdict.Refusal if the policies do not permit the use of the Secret.
func (s Subject) refuse() error {
	chain := own
	if s.existing() != nil {
		chain = existing
	}
	for _, refuse := range chain() {
		if r := refuse(s); r != nil {
			return r
		}
	}
	return nil
}

// Value is the value of a token, with its digest and its time of issue. The zero Value means that there is no value.
type Value struct {
	Text  string
	Issue translate.Issue
}

// SecretName returns the name of the Secret with the value of a token: the Secret that the operator writes, or spec.existingSecret.
func SecretName(o *v1alpha1.AccessToken) string {
	if o.Spec.ExistingSecret != nil {
		return o.Spec.ExistingSecret.Name
	}
	return cmp.Or(o.Spec.SecretName, o.Name)
}

// SecretKey returns the key of the token's value in its Secret.
func SecretKey(o *v1alpha1.AccessToken) string {
	if o.Spec.ExistingSecret != nil {
		return o.Spec.ExistingSecret.Key
	}
	return ValueKey
}

// Read returns the value in the Secret, or the zero Value if the caller has to generate a value. The error is a *verdict.Refusal.
func Read(s Subject) (Value, error) {
	if err := s.refuse(); err != nil || s.Secret == nil {
		return Value{}, err
	}
	if s.Token.Spec.ExistingSecret == nil {
		v := writtenValue(s.Secret)
		if s.replaced(v) {
			return Value{}, nil
		}
		return v, nil
	}
	text, _ := translate.TokenText(s.Secret.Data[SecretKey(s.Token)]) // the policy unusable has checked the value
	return Value{text, translate.NewIssue(text, s.issued(text))}, nil
}

// writtenValue returns the value in a Secret that the operator writes, or the zero Value if the value is damaged. The time of issue is the
// time in the annotation or, if that is invalid, the creation time of the Secret.
func writtenValue(secret *corev1.Secret) Value {
	text, err := translate.TokenText(secret.Data[ValueKey])
	if err != nil {
		return Value{}
	}
	at, err := time.Parse(time.RFC3339, secret.Annotations[issuedAnnotation])
	if err != nil {
		at = secret.CreationTimestamp.UTC()
	}
	return Value{text, translate.NewIssue(text, at)}
}

// replaced reports whether v is a value that another value has replaced: the library accepts it only until the end of its overlap, or the
// current value is in the Secret that the spec named before. Such a value must not become current again.
func (s Subject) replaced(v Value) bool {
	for i, stored := range s.Stored {
		if stored.Digest == v.Issue.Digest {
			return i > 0
		}
	}
	return s.moved().Text != ""
}

// moved returns the current value if it is in a Secret that the spec no longer names, and the zero Value otherwise.
func (s Subject) moved() Value {
	for _, secret := range s.Previous {
		if v := writtenValue(secret); v.Text != "" && len(s.Stored) > 0 && v.Issue.Digest == s.Stored[0].Digest {
			return v
		}
	}
	return Value{}
}

// Obsolete returns the previous Secrets whose value is not in its overlap. accepted are the values that the library accepts now, beginning
// with the current value. There is always a current value (see translate.TokenValues).
func Obsolete(s Subject, accepted []library.TokenValue) []*corev1.Secret {
	return slices.DeleteFunc(slices.Clone(s.Previous), func(secret *corev1.Secret) bool {
		v := writtenValue(secret)
		return slices.ContainsFunc(accepted[1:], func(a library.TokenValue) bool { return a.Digest == v.Issue.Digest && a.Expires.After(s.Now) })
	})
}

// issued returns the time at which the library first accepted the value in the existing Secret of a user, if that is known.
func (s Subject) issued(text string) time.Time {
	digest := translate.NewIssue(text, s.Now).Digest
	for _, v := range s.Stored {
		switch {
		case v.Digest != digest:
		case !v.Since.IsZero():
			return v.Since.Truncate(time.Second)
		case s.Token.Status.LastRotation != nil:
			return s.Token.Status.LastRotation.UTC()
		}
	}
	return s.Now.UTC().Truncate(time.Second)
}

// Next returns the next value of the token: current, or a new value if current is empty or its rotation is due. replaced is the issue of
// the value that a new value replaces with an overlap. A value in a previous Secret counts as due for rotation. Without rotation, it moves
// to the Secret that the spec names.
func Next(s Subject, current Value) (next Value, replaced *translate.Issue) {
	due, moved := current.Issue.RotationDue(s.Token.Spec), s.moved()
	switch {
	case s.Token.Spec.ExistingSecret != nil:
		return current, nil
	case current.Text == "" && moved.Text != "" && s.Token.Spec.Rotation == nil:
		return moved, nil
	case current.Text == "" && moved.Text != "":
		return draw(s.Now), &moved.Issue
	case current.Text == "":
		return draw(s.Now), nil
	case !due.IsZero() && !s.Now.Before(due):
		return draw(s.Now), &current.Issue
	}
	return current, nil
}

// valueBytes is the number of random bytes in a value: 256 bits, 43 characters.
const valueBytes = 32

func draw(now time.Time) Value {
	b := make([]byte, valueBytes)
	rand.Read(b) // rand.Read never fails
	text := base64.RawURLEncoding.EncodeToString(b)
	// Use whole seconds, because the annotation of the Secret has a resolution of one second.
	return Value{text, translate.NewIssue(text, now.UTC().Truncate(time.Second))}
}

// Writer returns the name of the store whose operator writes the Secret, or "" if no operator writes it. known is false if the Secret does
// not belong to the token.
func Writer(s Subject) (store string, known bool) {
	switch {
	case s.existing() != nil || s.Secret == nil:
		return "", true
	case !metav1.IsControlledBy(s.Secret, s.object()):
		return "", false
	}
	return s.Secret.Annotations[StoreAnnotation], true
}
