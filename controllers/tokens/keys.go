package tokens

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// Keys of a Secret that the operator writes for a Webhook: the signing secret and, during the overlap of a rotation, the one before it.
const (
	SigningKey  = "secret"
	PreviousKey = "previous"
)

// overlapAnnotation contains the end of the overlap of the previous signing secret, in the format of RFC 3339.
const overlapAnnotation = "vitrine.dev/previous-until"

// keyPrefix marks a signing secret, as in the Standard Webhooks specification. Standard Base64 follows it.
const keyPrefix = "whsec_"

// The specification permits signing secrets of minKey to maxKey bytes. The operator generates valueBytes, as for tokens.
const (
	minKey = 24
	maxKey = 64
)

// errKeys means that a value in a Secret contains no signing secret.
var errKeys = errors.New("the value is not one or two signing secrets, each of them whsec_ and the standard Base64 encoding of 24 to 64 bytes")

// Keys are the signing secrets of a Webhook.
type Keys struct {
	// Current and Previous are the texts. Previous is "" except during the overlap of a rotation.
	Current, Previous string
	// Issued is the time of issue of Current. It is zero if the value is in a Secret of a user.
	Issued time.Time
	// Overlap is the end of the overlap, if Previous is set and the operator writes the Secret.
	Overlap time.Time
}

// Bytes returns the decoded keys, the current one first.
func (k Keys) Bytes() [][]byte {
	keys, _ := parseKeys(k.Current + " " + k.Previous) // ReadKeys has checked them
	return keys
}

// RotationDue returns the time at which Current has to be replaced, or the zero time if it is never replaced.
func (k Keys) RotationDue(spec v1alpha1.WebhookSpec) time.Time {
	if spec.Rotation == nil || k.Issued.IsZero() {
		return time.Time{}
	}
	return k.Issued.Add(spec.Rotation.Every.Duration)
}

// parseKeys decodes signing secrets that are separated by white space.
func parseKeys(text string) ([][]byte, error) {
	var keys [][]byte
	for _, field := range strings.Fields(text) {
		encoded, prefixed := strings.CutPrefix(field, keyPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !prefixed || err != nil || len(key) < minKey || len(key) > maxKey {
			return nil, errKeys
		}
		keys = append(keys, key)
	}
	if len(keys) < 1 || len(keys) > 2 {
		return nil, errKeys
	}
	return keys, nil
}

// KeysName returns the name of the Secret with the signing secret of a Webhook.
func KeysName(o *v1alpha1.Webhook) string {
	if o.Spec.ExistingSecret != nil {
		return o.Spec.ExistingSecret.Name
	}
	return o.Name + "-webhook"
}

// NextKeys returns the signing secrets that the Webhook has from now on: those in the Secret, or new ones if there are none or if a rotation
// is due. The error is a *verdict.Refusal.
func NextKeys(s Subject) (Keys, error) {
	if err := s.refuse(); err != nil {
		return Keys{}, err
	}
	if ref := s.existing(); ref != nil {
		fields := append(strings.Fields(string(s.Secret.Data[ref.Key])), "")
		return Keys{Current: fields[0], Previous: fields[1]}, nil
	}
	now := s.Now.UTC().Truncate(time.Second) // the resolution of the annotations
	k := writtenKeys(s)
	due := k.RotationDue(s.Webhook.Spec)
	switch {
	case k.Current == "":
		return Keys{Current: drawKey(), Issued: now}, nil
	case !due.IsZero() && !s.Now.Before(due):
		k = Keys{Current: drawKey(), Previous: k.Current, Issued: now, Overlap: now.Add(s.Webhook.Spec.Rotation.Overlap.Duration)}
	}
	if !k.Overlap.After(s.Now) {
		k.Previous, k.Overlap = "", time.Time{}
	}
	return k, nil
}

// writtenKeys returns the keys in the Secret that the operator writes, or the zero Keys if there is no usable one.
func writtenKeys(s Subject) Keys {
	if s.Secret == nil {
		return Keys{}
	}
	k := Keys{Current: string(s.Secret.Data[SigningKey]), Previous: string(s.Secret.Data[PreviousKey])}
	if keys, err := parseKeys(k.Current); err != nil || len(keys) != 1 {
		return Keys{}
	}
	var err error
	if k.Issued, err = time.Parse(time.RFC3339, s.Secret.Annotations[issuedAnnotation]); err != nil {
		k.Issued = s.Secret.CreationTimestamp.UTC()
	}
	// A damaged time is zero, so that the overlap has ended.
	k.Overlap, _ = time.Parse(time.RFC3339, s.Secret.Annotations[overlapAnnotation])
	if keys, err := parseKeys(k.Previous); err != nil || len(keys) != 1 {
		k.Previous, k.Overlap = "", time.Time{}
	}
	return k
}

// KeysSecret returns the desired Secret of a Webhook, and true if s.Secret differs from it.
func KeysSecret(s Subject, k Keys) (secret *corev1.Secret, changed bool) {
	secret, changed = s.written(KeysName(s.Webhook), k.Issued, map[string]string{SigningKey: k.Current, PreviousKey: k.Previous})
	if !k.Overlap.IsZero() {
		return secret, set(&secret.Annotations, overlapAnnotation, k.Overlap.UTC().Format(time.RFC3339)) || changed
	}
	if _, stale := secret.Annotations[overlapAnnotation]; stale {
		delete(secret.Annotations, overlapAnnotation)
		changed = true
	}
	return secret, changed
}

func drawKey() string {
	b := make([]byte, valueBytes)
	rand.Read(b) // rand.Read never fails
	return keyPrefix + base64.StdEncoding.EncodeToString(b)
}
