package tokens

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

const text = "0123456789abcdefghijklmnopqrstuvwxyz"

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func token(change func(*v1alpha1.AccessTokenSpec)) *v1alpha1.AccessToken {
	o := &v1alpha1.AccessToken{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "storefront", UID: "u"}}
	if change != nil {
		change(&o.Spec)
	}
	return o
}

func sealed(s *v1alpha1.AccessTokenSpec) {
	s.ExistingSecret = &v1alpha1.SecretKeyReference{Name: "sealed", Key: "value"}
}

// written returns the Secret that the operator of a store writes for a token.
func written(o *v1alpha1.AccessToken, store string, at time.Time) *corev1.Secret {
	secret, _ := Secret(Subject{Token: o, Store: store}, Value{text, translate.NewIssue(text, at)}, "https://content.example", "")
	return secret
}

func TestRead(t *testing.T) {
	own := token(nil)
	recreated := token(nil)
	recreated.UID = "another"
	other := token(nil)
	other.Name, other.UID = "another", "another"
	existing := token(sealed)
	holding := func(key, value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "sealed"}, Data: map[string][]byte{key: []byte(value)}}
	}
	damaged := written(own, "ours", now)
	damaged.Data[ValueKey] = []byte("short")
	since := now.Add(-time.Hour)
	tests := map[string]struct {
		token  *v1alpha1.AccessToken
		secret *corev1.Secret
		stored []library.TokenValue
		want   Value
		// reason, waiting and conflict are the fields of the refusal.
		reason            string
		cure              string // cure is the beginning of the field Cure
		waiting, conflict bool
	}{
		"no Secret yet":    {token: own},
		"ours":             {token: own, secret: written(own, "ours", since), want: Value{text, translate.NewIssue(text, since)}},
		"ours, damaged":    {token: own, secret: damaged},
		"of another store": {token: own, secret: written(own, "theirs", now), reason: v1alpha1.ReasonSecretConflict, conflict: true},
		"of no owner":      {token: own, secret: holding("token", text), reason: v1alpha1.ReasonSecretConflict, conflict: true},
		"of another token": {token: own, secret: written(other, "ours", now), reason: v1alpha1.ReasonSecretConflict, conflict: true},
		"of a deleted token": {
			token: recreated, secret: written(own, "ours", now), reason: v1alpha1.ReasonSecretConflict, waiting: true,
			cure: "wait until Kubernetes deletes the Secret",
		},
		"existing, absent":      {token: existing, reason: v1alpha1.ReasonSecretNotFound, waiting: true},
		"existing, without key": {token: existing, secret: holding("other", text), reason: v1alpha1.ReasonSecretNotFound, waiting: true},
		"existing, unusable":    {token: existing, secret: holding("value", "short"), reason: v1alpha1.ReasonSecretInvalid},
		"existing, new":         {token: existing, secret: holding("value", text+"\n"), want: Value{text, translate.NewIssue(text, now)}},
		"existing, known": {
			token: existing, secret: holding("value", text), want: Value{text, translate.NewIssue(text, since)},
			stored: []library.TokenValue{{Digest: translate.NewIssue(text, now).Digest, Since: since}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Read(Subject{Token: tc.token, Secret: tc.secret, Stored: tc.stored, Store: "ours", Now: now})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Read (-want +got):\n%s", diff)
			}
			var r *verdict.Refusal
			switch {
			case !errors.As(err, &r):
				if tc.reason != "" || err != nil {
					t.Errorf("Read: %v, want a refusal for %q", err, tc.reason)
				}
			case !strings.HasPrefix(r.Cure, tc.cure):
				t.Errorf("Read: the cure is %q, want %q", r.Cure, tc.cure)
			case r.Reason != tc.reason || r.Waiting != tc.waiting || (r.Condition == v1alpha1.ConflictCondition) != tc.conflict:
				t.Errorf("Read: %+v", r)
			}
		})
	}
}

func TestNext(t *testing.T) {
	rotating := func(s *v1alpha1.AccessTokenSpec) {
		s.Rotation = &v1alpha1.Rotation{Every: metav1.Duration{Duration: time.Hour}}
	}
	current := func(age time.Duration) Value { return Value{text, translate.NewIssue(text, now.Add(-age))} }
	tests := map[string]struct {
		change          func(*v1alpha1.AccessTokenSpec)
		current         Value
		drawn, replaced bool
	}{
		"none":                          {drawn: true},
		"one":                           {current: current(time.Hour)},
		"not due":                       {change: rotating, current: current(time.Hour - 1)},
		"due":                           {change: rotating, current: current(time.Hour), drawn: true, replaced: true},
		"never with an existing Secret": {change: sealed, current: current(time.Hour)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			next, replaced := Next(Subject{Token: token(tc.change), Now: now}, tc.current)
			if (next != tc.current) != tc.drawn || (replaced != nil) != tc.replaced {
				t.Fatalf("Next = %v, %v", next, replaced)
			}
			if tc.drawn && (len(next.Text) != 43 || !next.Issue.At.Equal(now)) {
				t.Errorf("generated: %d characters, issued at %s", len(next.Text), next.Issue.At)
			}
		})
	}
}

// TestRenamed checks which value a token has after a change of spec.secretName, and which previous Secrets are obsolete.
func TestRenamed(t *testing.T) {
	rotating := func(s *v1alpha1.AccessTokenSpec) {
		s.Rotation = &v1alpha1.Rotation{Every: metav1.Duration{Duration: 24 * time.Hour}, Overlap: metav1.Duration{Duration: time.Hour}}
	}
	value := func(letter string) string { return strings.Repeat(letter, 40) }
	holding := func(name, letter string) *corev1.Secret {
		secret := written(token(nil), "ours", now)
		secret.Name, secret.Data[ValueKey] = name, []byte(value(letter))
		return secret
	}
	accepts := func(letters ...string) []library.TokenValue {
		var all []library.TokenValue
		for i, letter := range letters {
			v := library.TokenValue{Digest: translate.NewIssue(value(letter), now).Digest}
			if i > 0 {
				v.Expires = now.Add(time.Minute)
			}
			all = append(all, v)
		}
		return all
	}
	tests := map[string]struct {
		change   func(*v1alpha1.AccessTokenSpec)
		secret   *corev1.Secret
		previous []*corev1.Secret
		stored   []library.TokenValue
		want     string // the letter of the value, or "" for a new value
		replaced string // the letter of the replaced value
		obsolete int    // the number of obsolete Secrets if the library accepts stored
	}{
		"renamed, with rotation": {
			change: rotating, previous: []*corev1.Secret{holding("a", "a")}, stored: accepts("a"), replaced: "a", obsolete: 1,
		},
		"renamed, without rotation": {previous: []*corev1.Secret{holding("a", "a")}, stored: accepts("a"), want: "a", obsolete: 1},
		"during the overlap": {
			change: rotating, secret: holding("b", "b"), previous: []*corev1.Secret{holding("a", "a")}, stored: accepts("b", "a"), want: "b",
		},
		"after the overlap": {
			change: rotating, secret: holding("b", "b"), previous: []*corev1.Secret{holding("a", "a")}, stored: accepts("b"), want: "b", obsolete: 1,
		},
		"renamed back during the overlap": {
			change: rotating, secret: holding("a", "a"), previous: []*corev1.Secret{holding("b", "b")}, stored: accepts("b", "a"), replaced: "b", obsolete: 1,
		},
		"renamed back after the overlap": {
			change: rotating, secret: holding("a", "a"), previous: []*corev1.Secret{holding("b", "b")}, stored: accepts("b"), replaced: "b", obsolete: 1,
		},
		"renamed back, and the new Secret was not written": {
			change: rotating, secret: holding("a", "a"), previous: []*corev1.Secret{holding("b", "b")}, stored: accepts("c", "b", "a"),
		},
		"edited by a user": {secret: holding("a", "x"), stored: accepts("a"), want: "x"},
		"a damaged previous Secret": {
			secret: holding("b", "b"), previous: []*corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, stored: accepts("b"), want: "b", obsolete: 1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := Subject{Token: token(tc.change), Secret: tc.secret, Previous: tc.previous, Stored: tc.stored, Store: "ours", Now: now}
			current, err := Read(s)
			if err != nil {
				t.Fatal(err)
			}
			next, replaced := Next(s, current)
			known := ""
			for _, letter := range []string{"a", "b", "c", "x"} {
				if next.Text == value(letter) {
					known = letter
				}
			}
			if known != tc.want {
				t.Errorf("the value is %q, want %q", known, tc.want)
			}
			if (replaced != nil) != (tc.replaced != "") || replaced != nil && replaced.Digest != translate.NewIssue(value(tc.replaced), now).Digest {
				t.Errorf("replaced: %v, want the value %q", replaced, tc.replaced)
			}
			if got := Obsolete(s, tc.stored); len(got) != tc.obsolete {
				t.Errorf("%d obsolete Secrets, want %d", len(got), tc.obsolete)
			}
		})
	}
}

func TestSecret(t *testing.T) {
	o := token(nil)
	value := Value{text, translate.NewIssue(text, now)}
	s := Subject{Token: o, Store: "ours"}
	var changed bool
	for _, step := range []struct {
		name, url, ca string
		spoil         func(*corev1.Secret)
		want          bool
	}{
		{name: "made", url: "https://a.example", ca: "PEM", want: true},
		{name: "as it is", url: "https://a.example", ca: "PEM"},
		{name: "another address", url: "https://b.example", ca: "PEM", want: true},
		{name: "no authority", url: "https://b.example", want: true},
		{name: "as it is without one", url: "https://b.example"},
		{name: "without its label", url: "https://b.example", spoil: func(s *corev1.Secret) { s.Labels = nil }, want: true},
		{name: "without data", url: "https://b.example", spoil: func(s *corev1.Secret) { s.Data = nil }, want: true},
		{name: "an empty key", url: "https://b.example", spoil: func(s *corev1.Secret) { s.Data[CAKey] = nil }, want: true},
	} {
		if step.spoil != nil {
			step.spoil(s.Secret)
		}
		if s.Secret, changed = Secret(s, value, step.url, step.ca); changed != step.want {
			t.Errorf("%s: changed = %t, want %t", step.name, changed, step.want)
		}
		want := map[string][]byte{ValueKey: []byte(text), URLKey: []byte(step.url)}
		if step.ca != "" {
			want[CAKey] = []byte(step.ca)
		}
		if diff := cmp.Diff(want, s.Secret.Data); diff != "" {
			t.Errorf("%s: data (-want +got):\n%s", step.name, diff)
		}
		if !metav1.IsControlledBy(s.Secret, o) || s.Secret.Labels[Label] != o.Name || s.Secret.Annotations[StoreAnnotation] != "ours" {
			t.Errorf("%s: %+v", step.name, s.Secret.ObjectMeta)
		}
	}
}
