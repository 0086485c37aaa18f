package tokens

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Subject is an AccessToken with everything that the policies evaluate.
type Subject struct {
	// Token is the AccessToken.
	Token *v1alpha1.AccessToken
	// Secret is the Secret named SecretName on the API server; nil if there is none.
	Secret *corev1.Secret
	// Stored contains the values that the library accepts for the token, beginning with the current value.
	Stored []library.TokenValue
	// Store is the name of this operator's store.
	Store string
	// Now is the time of the decision.
	Now time.Time
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
	chain := own
	if s.Token.Spec.ExistingSecret != nil {
		chain = existing
	}
	for _, refuse := range chain() {
		if r := refuse(s); r != nil {
			return Value{}, r
		}
	}
	if s.Secret == nil {
		return Value{}, nil
	}
	if text, err := translate.TokenText(s.Secret.Data[SecretKey(s.Token)]); err == nil {
		return Value{text, translate.NewIssue(text, s.issued(text))}, nil
	}
	return Value{}, nil // the value in the Secret was damaged, and the operator writes this Secret, so generate a new value
}

// issued returns the time at which the value in the Secret was issued. For a Secret that the operator writes, it is the time in the
// annotation or, if that is invalid, the creation time of the Secret. For any other Secret, it is the time at which the library first
// accepted the value, if that is known.
func (s Subject) issued(text string) time.Time {
	if s.Token.Spec.ExistingSecret == nil {
		if t, err := time.Parse(time.RFC3339, s.Secret.Annotations[issuedAnnotation]); err == nil {
			return t
		}
		return s.Secret.CreationTimestamp.UTC()
	}
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

// Next returns the next value of the token: current, or a new value if current is empty or its rotation is due. If the rotation is due,
// replaced is the issue of current.
func Next(s Subject, current Value) (next Value, replaced *translate.Issue) {
	due := current.Issue.RotationDue(s.Token.Spec)
	switch {
	case s.Token.Spec.ExistingSecret != nil:
		return current, nil
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
	case s.Token.Spec.ExistingSecret != nil || s.Secret == nil:
		return "", true
	case !metav1.IsControlledBy(s.Secret, s.Token):
		return "", false
	}
	return s.Secret.Annotations[StoreAnnotation], true
}
