package tokens

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
)

const (
	keyA = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	keyB = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
)

// TestNextKeys checks which signing secrets a Webhook has from now on. "new" is a generated one.
func TestNextKeys(t *testing.T) {
	rotation := &v1alpha1.Rotation{Every: metav1.Duration{Duration: time.Hour}, Overlap: metav1.Duration{Duration: time.Minute}}
	written := func(k Keys) *corev1.Secret {
		secret, changed := KeysSecret(Subject{Webhook: webhook(nil), Store: "ours"}, k)
		if !changed {
			t.Error("a missing Secret is unchanged")
		}
		return secret
	}
	existing := func(value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Data: map[string][]byte{"key": []byte(value)}}
	}
	overlapping := Keys{Current: keyA, Previous: keyB, Issued: now, Overlap: now.Add(time.Minute)}
	tests := map[string]struct {
		change func(*v1alpha1.WebhookSpec)
		secret *corev1.Secret
		at     time.Time
		want   Keys
		reason string
	}{
		"no Secret":         {at: now, want: Keys{Current: "new", Issued: now}},
		"one":               {secret: written(Keys{Current: keyA, Issued: now}), at: now.Add(9000 * time.Hour), want: Keys{Current: keyA, Issued: now}},
		"damaged":           {secret: written(Keys{Current: "whsec_short", Issued: now}), at: now, want: Keys{Current: "new", Issued: now}},
		"two in one":        {secret: written(Keys{Current: keyA + " " + keyB, Issued: now}), at: now, want: Keys{Current: "new", Issued: now}},
		"overlap":           {secret: written(overlapping), at: now.Add(59 * time.Second), want: overlapping},
		"after the overlap": {secret: written(overlapping), at: now.Add(time.Minute), want: Keys{Current: keyA, Issued: now}},
		"due": {
			change: func(s *v1alpha1.WebhookSpec) { s.Rotation = rotation },
			secret: written(Keys{Current: keyA, Issued: now}), at: now.Add(time.Hour),
			want: Keys{Current: "new", Previous: keyA, Issued: now.Add(time.Hour), Overlap: now.Add(time.Hour + time.Minute)},
		},
		"of another owner": {secret: &corev1.Secret{}, at: now, reason: v1alpha1.ReasonSecretConflict},
		"existing":         {change: provided, secret: existing(keyA + "\n"), at: now, want: Keys{Current: keyA}},
		"existing, two":    {change: provided, secret: existing(keyA + " " + keyB), at: now, want: Keys{Current: keyA, Previous: keyB}},
		"existing, three":  {change: provided, secret: existing(keyA + " " + keyB + " " + keyA), at: now, reason: v1alpha1.ReasonSecretInvalid},
		"existing, short":  {change: provided, secret: existing("whsec_c2hvcnQ="), at: now, reason: v1alpha1.ReasonSecretInvalid},
		"existing, absent": {change: provided, at: now, reason: v1alpha1.ReasonSecretNotFound},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := Subject{Webhook: webhook(tc.change), Secret: tc.secret, Store: "ours", Now: tc.at}
			got, err := NextKeys(s)
			var r *verdict.Refusal
			if errors.As(err, &r) != (tc.reason != "") || r != nil && r.Reason != tc.reason {
				t.Fatalf("NextKeys: %v, want %q", err, tc.reason)
			}
			if tc.want.Current == "new" {
				if got.Current == keyA || len(got.Bytes()[0]) != valueBytes {
					t.Errorf("generated %d bytes", len(got.Bytes()[0]))
				}
				got.Current = "new"
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Fatalf("NextKeys (-want +got):\n%s", diff)
			}
			if err != nil || s.existing() != nil || got.Current == "new" {
				return
			}
			secret, changed := KeysSecret(s, got)
			if changed != (name == "after the overlap") {
				t.Errorf("KeysSecret: changed is %v", changed)
			}
			s.Secret = secret
			if _, changed := KeysSecret(s, got); changed {
				t.Error("the desired Secret differs from itself")
			}
		})
	}
}

func webhook(change func(*v1alpha1.WebhookSpec)) *v1alpha1.Webhook {
	o := &v1alpha1.Webhook{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "moderator", UID: "w"}}
	if change != nil {
		change(&o.Spec)
	}
	return o
}

func provided(s *v1alpha1.WebhookSpec) {
	s.ExistingSecret = &v1alpha1.SecretKeyReference{Name: "mine", Key: "key"}
}
