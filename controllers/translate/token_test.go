package translate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

func TestTokenText(t *testing.T) {
	good, long := strings.Repeat("x", translate.MinTokenLength), strings.Repeat("x", translate.MaxTokenLength)
	tests := map[string]struct {
		value string
		want  string // "" for an error
	}{
		"minimum length":                          {value: good, want: good},
		"longer":                                  {value: good + "~!", want: good + "~!"},
		"a trailing newline":                      {value: good + "\n", want: good},
		"a trailing newline, Windows":             {value: good + "\r\n", want: good},
		"maximum length, with a newline":          {value: long + "\n", want: long},
		"one character too long":                  {value: long + "x"},
		"one character too short":                 {value: good[1:]},
		"one character too short, with a newline": {value: good[1:] + "\n"},
		"nothing":                                 {value: ""},
		"a newline alone":                         {value: "\n"},
		"two lines":                               {value: good + "\n" + good},
		"two trailing newlines":                   {value: good + "\n\n"},
		"a space":                                 {value: good + " x"},
		"a control character":                     {value: good + "\x00"},
		"a non-ASCII character":                   {value: good + "ü"},
		"a delete character":                      {value: good + "\x7f"},
		"only spaces are long enough":             {value: strings.Repeat(" ", 40)},
		"white space around the value":            {value: " " + good},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := translate.TokenText([]byte(tc.value))
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("TokenText(%q) = %q, %v; want %q", tc.value, got, err, tc.want)
			}
			if err != nil && tc.value != "" && strings.Contains(err.Error(), tc.value) {
				t.Errorf("the error reveals the value: %v", err)
			}
		})
	}
}

func TestTokenValues(t *testing.T) {
	now := time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
	week := 168 * time.Hour
	current := translate.NewIssue("current", now)
	old := translate.NewIssue("old", now.Add(-week))
	lost := translate.NewIssue("lost", now)
	rotation := &v1alpha1.Rotation{Every: metav1.Duration{Duration: week}, Overlap: metav1.Duration{Duration: time.Hour}}
	expiry := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	value := func(i translate.Issue, expires time.Time) library.TokenValue {
		return library.TokenValue{Digest: i.Digest, Expires: expires}
	}
	never := time.Time{}

	tests := map[string]struct {
		spec     v1alpha1.AccessTokenSpec
		replaced *translate.Issue
		stored   []library.TokenValue
		want     []library.TokenValue
	}{
		"one value that never expires": {want: []library.TokenValue{value(current, never)}},
		"one value that expires": {
			spec: v1alpha1.AccessTokenSpec{ExpiresAfter: expiry(720 * time.Hour)},
			want: []library.TokenValue{value(current, now.Add(720*time.Hour))},
		},
		"without rotation, the old value is dropped at once": {
			stored: []library.TokenValue{value(old, never)},
			want:   []library.TokenValue{value(current, never)},
		},
		"a rotation begins": {
			spec: v1alpha1.AccessTokenSpec{Rotation: rotation}, replaced: &old,
			stored: []library.TokenValue{value(old, never)},
			want:   []library.TokenValue{value(current, never), value(old, now.Add(time.Hour))},
		},
		"the old value expires before the overlap ends": {
			spec: v1alpha1.AccessTokenSpec{Rotation: rotation, ExpiresAfter: expiry(week + time.Minute)}, replaced: &old,
			want: []library.TokenValue{value(current, now.Add(week+time.Minute)), value(old, now.Add(time.Minute))},
		},
		"the old value has expired already": {
			spec: v1alpha1.AccessTokenSpec{Rotation: rotation, ExpiresAfter: expiry(week)}, replaced: &old,
			want: []library.TokenValue{value(current, now.Add(week))},
		},
		"during an overlap": {
			spec:   v1alpha1.AccessTokenSpec{Rotation: rotation},
			stored: []library.TokenValue{value(current, never), value(old, now.Add(time.Minute))},
			want:   []library.TokenValue{value(current, never), value(old, now.Add(time.Minute))},
		},
		"after an overlap": {
			spec:   v1alpha1.AccessTokenSpec{Rotation: rotation},
			stored: []library.TokenValue{value(current, never), value(old, now)},
			want:   []library.TokenValue{value(current, never)},
		},
		"a shorter overlap does not end an earlier one": {
			spec: v1alpha1.AccessTokenSpec{Rotation: &v1alpha1.Rotation{
				Every: metav1.Duration{Duration: week}, Overlap: metav1.Duration{Duration: time.Second},
			}},
			stored: []library.TokenValue{value(current, never), value(old, now.Add(time.Hour))},
			want:   []library.TokenValue{value(current, never), value(old, now.Add(time.Hour))},
		},
		"removing the rotation does not end an overlap": {
			stored: []library.TokenValue{value(current, never), value(old, now.Add(time.Hour))},
			want:   []library.TokenValue{value(current, never), value(old, now.Add(time.Hour))},
		},
		"the value of a deleted Secret is dropped at once, even if it expires within an overlap": {
			spec:   v1alpha1.AccessTokenSpec{Rotation: rotation},
			stored: []library.TokenValue{value(lost, now.Add(time.Minute)), value(old, now.Add(time.Hour))},
			want:   []library.TokenValue{value(current, never), value(old, now.Add(time.Hour))},
		},
		"a value that was never written to its Secret is dropped": {
			spec: v1alpha1.AccessTokenSpec{Rotation: rotation}, replaced: &old,
			stored: []library.TokenValue{value(lost, never), value(old, now.Add(time.Hour))},
			want:   []library.TokenValue{value(current, never), value(old, now.Add(time.Hour))},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := translate.TokenValues(tc.spec, current, tc.replaced, tc.stored, now)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(library.TokenValue{}, "Since")); diff != "" {
				t.Errorf("TokenValues (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTokenValuesSince checks that TokenValues keeps the time at which a token first had a certain value. If two tokens have the same
// value, this time decides which token holds the value.
func TestTokenValuesSince(t *testing.T) {
	now := time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
	old, next := translate.NewIssue("old", now), translate.NewIssue("next", now)
	spec := v1alpha1.AccessTokenSpec{Rotation: &v1alpha1.Rotation{
		Every: metav1.Duration{Duration: 48 * time.Hour}, Overlap: metav1.Duration{Duration: 24 * time.Hour},
	}}
	at := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	issued := translate.TokenValues(spec, old, nil, nil, now)
	rotated := translate.TokenValues(spec, next, &old, translate.TokenValues(spec, old, nil, issued, at(1)), at(48))
	got := translate.TokenValues(spec, next, nil, rotated, at(49))
	want := []library.TokenValue{{Digest: next.Digest, Since: at(48)}, {Digest: old.Digest, Since: now, Expires: at(72)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("TokenValues (-want +got):\n%s", diff)
	}
}

func TestIssueTimes(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	i := translate.NewIssue("value", at)
	if got := i.Expires(v1alpha1.AccessTokenSpec{}); !got.IsZero() {
		t.Errorf("without expiresAfter it expires at %s", got)
	}
	if got := i.RotationDue(v1alpha1.AccessTokenSpec{}); !got.IsZero() {
		t.Errorf("without rotation it is due at %s", got)
	}
	spec := v1alpha1.AccessTokenSpec{
		ExpiresAfter: &metav1.Duration{Duration: 3 * time.Hour},
		Rotation:     &v1alpha1.Rotation{Every: metav1.Duration{Duration: 2 * time.Hour}},
	}
	if got, want := i.Expires(spec), at.Add(3*time.Hour); !got.Equal(want) {
		t.Errorf("Expires = %s, want %s", got, want)
	}
	if got, want := i.RotationDue(spec), at.Add(2*time.Hour); !got.Equal(want) {
		t.Errorf("RotationDue = %s, want %s", got, want)
	}
}
