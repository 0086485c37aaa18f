package controllers

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// property is the Property that the objects of these tests belong to.
var property = library.Definition{
	Property: "shop/default", Owner: library.Owner{Install: "c", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
	PropertySpec: &library.Property{PlatformPageID: 1},
}

func applyProperty(t *testing.T, lib library.Library) {
	t.Helper()
	if results, err := lib.Apply(context.Background(), []library.Definition{property}); err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
}

// start is the time at which these tests start.
var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// newReconciler returns a reconciler with a fake API server that contains objects. The functions in funcs intercept the calls to the fake.
// Use it only in tests that depend on the order or on the results of API calls. All other tests use a real API server.
func newReconciler(t *testing.T, k kind, funcs interceptor.Funcs, objects ...client.Object) (*reconciler, client.Client) {
	t.Helper()
	lib, err := reference.Open(reference.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
	})
	applyProperty(t, lib)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(objects...).
		WithIndex(&corev1.Secret{}, controllerIndex, controllerOf).Build()
	set := newSet(interceptor.NewClient(server, funcs), server, Config{
		Library: lib, Install: "c", Removals: permitted{}, Events: events.NewFakeRecorder(100), Metrics: NewMetrics(),
		Clock: func() time.Time { return start },
	})
	set.Begin()
	return &reconciler{kind: k, Set: set}, server
}

// permitted permits every removal.
type permitted struct{}

func (permitted) Watch(library.Kind) predicate.Predicate                 { return predicate.Funcs{} }
func (permitted) Exists(library.Owner)                                   {}
func (permitted) Permit(context.Context, library.Owner, time.Time) error { return nil }
func (permitted) Removed(library.Owner)                                  {}

func token(change func(*v1alpha1.AccessTokenSpec)) *v1alpha1.AccessToken {
	o := &v1alpha1.AccessToken{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "storefront", Generation: 1, UID: "u"}}
	o.Spec.Class = v1alpha1.ReadOnly
	if change != nil {
		change(&o.Spec)
	}
	return o
}

var storefront = types.NamespacedName{Namespace: "shop", Name: "storefront"}

// TestRequeueAfter checks after which time an object is reconciled again without an event.
func TestRequeueAfter(t *testing.T) {
	hours := func(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Hour} }
	month := hours(720)
	sealed := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sealed"}, Data: map[string][]byte{
		"token": []byte("0123456789abcdefghijklmnopqrstuvwxyz"), "short": []byte("short"),
	}}
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "foreign"}}
	existing := func(name, key string) func(*v1alpha1.AccessTokenSpec) {
		return func(s *v1alpha1.AccessTokenSpec) {
			s.ExistingSecret = &v1alpha1.SecretKeyReference{Name: name, Key: key}
		}
	}
	tests := map[string]struct {
		change func(*v1alpha1.AccessTokenSpec)
		want   time.Duration
	}{
		"never":           {want: 0},
		"when it expires": {change: func(s *v1alpha1.AccessTokenSpec) { s.ExpiresAfter = &month }, want: 720 * time.Hour},
		"when it rotates": {change: func(s *v1alpha1.AccessTokenSpec) {
			s.Rotation = &v1alpha1.Rotation{Every: hours(168), Overlap: hours(1)}
		}, want: 168 * time.Hour},
		"the earlier of both": {change: func(s *v1alpha1.AccessTokenSpec) {
			s.ExpiresAfter, s.Rotation = &month, &v1alpha1.Rotation{Every: hours(168), Overlap: hours(1)}
		}, want: 168 * time.Hour},
		"not while suspended": {change: func(s *v1alpha1.AccessTokenSpec) {
			s.Suspend, s.Rotation = true, &v1alpha1.Rotation{Every: hours(168), Overlap: hours(1)}
		}, want: 0},
		"an existing Secret":         {change: existing("sealed", "token"), want: time.Minute},
		"an invalid existing Secret": {change: existing("sealed", "short"), want: time.Minute},
		"a missing existing Secret":  {change: existing("absent", "token"), want: time.Minute},
		"a Secret of another owner":  {change: func(s *v1alpha1.AccessTokenSpec) { s.SecretName = "foreign" }, want: time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, _ := newReconciler(t, tokenKind(), interceptor.Funcs{}, token(tc.change), sealed, foreign)
			result, err := r.Reconcile(context.Background(), ctrl.Request{NamespacedName: storefront})
			if err != nil || result.RequeueAfter != tc.want {
				t.Errorf("Reconcile = %v, %v; want to be requeued after %v", result.RequeueAfter, err, tc.want)
			}
		})
	}
}

// TestSuspendedTokenExpires checks that a suspended token is reconciled when it expires, and that its status then reports the expiry.
func TestSuspendedTokenExpires(t *testing.T) {
	ctx := context.Background()
	r, server := newReconciler(t, tokenKind(), interceptor.Funcs{}, token(func(s *v1alpha1.AccessTokenSpec) {
		s.ExpiresAfter = &metav1.Duration{Duration: 720 * time.Hour}
	}))
	now := start
	r.Clock = func() time.Time { return now }
	reconcile := func(wantReason string, wantAfter time.Duration) {
		t.Helper()
		result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: storefront})
		if err != nil || result.RequeueAfter != wantAfter {
			t.Errorf("Reconcile = %v, %v; want to be requeued after %v", result.RequeueAfter, err, wantAfter)
		}
		o := &v1alpha1.AccessToken{}
		if err := server.Get(ctx, storefront, o); err != nil {
			t.Fatal(err)
		}
		if got := verdict.Ready(o).Reason; got != wantReason {
			t.Errorf("Ready has the reason %s, want %s", got, wantReason)
		}
	}
	reconcile(v1alpha1.ReasonServed, 720*time.Hour)
	o := &v1alpha1.AccessToken{}
	if err := server.Get(ctx, storefront, o); err != nil {
		t.Fatal(err)
	}
	o.Spec.Suspend = true
	o.Spec.ExpiresAfter = nil // not applied during the suspension, so the stored expiry still applies
	if err := server.Update(ctx, o); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	reconcile(v1alpha1.ReasonSuspended, 719*time.Hour)
	now = now.Add(719 * time.Hour)
	reconcile(v1alpha1.ReasonExpired, 0)
	reconcile(v1alpha1.ReasonExpired, 0)
}

// TestMissingPropertyIsReportedAfterGrace checks that an object reports its missing Property only after the grace period, and that a new
// grace period starts if the Property is deleted again.
func TestMissingPropertyIsReportedAfterGrace(t *testing.T) {
	ctx := context.Background()
	o := filter()
	o.Spec.Query = "approval_status:app"
	r, server := newReconciler(t, filterKind(), interceptor.Funcs{}, o)
	now := start
	r.Clock, r.PropertyGrace = func() time.Time { return now }, time.Minute
	reconcile := func(wantReason string, wantAfter time.Duration) {
		t.Helper()
		result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		if err != nil || result.RequeueAfter != wantAfter {
			t.Errorf("Reconcile = %v, %v; want to be requeued after %v", result.RequeueAfter, err, wantAfter)
		}
		is := &v1alpha1.ContentFilter{}
		if err := server.Get(ctx, client.ObjectKeyFromObject(o), is); err != nil {
			t.Fatal(err)
		}
		if got := verdict.Ready(is).Reason; got != wantReason {
			t.Errorf("Ready has the reason %q, want %q", got, wantReason)
		}
	}
	removeProperty := func() {
		t.Helper()
		if _, err := r.Library.Remove(ctx, []library.Owner{property.Owner}); err != nil {
			t.Fatal(err)
		}
	}
	removeProperty()
	reconcile("", time.Minute)
	now = now.Add(45 * time.Second)
	reconcile("", 15*time.Second)
	applyProperty(t, r.Library)
	reconcile(v1alpha1.ReasonServed, 0)
	removeProperty()
	reconcile(v1alpha1.ReasonServed, time.Minute)
	now = now.Add(time.Minute)
	reconcile(v1alpha1.ReasonPropertyNotFound, 0)
}

// TestTokenIsAcceptedBeforeSecretIsWritten checks the order of the writes: the library accepts a value before any Secret contains
// it.
func TestTokenIsAcceptedBeforeSecretIsWritten(t *testing.T) {
	ctx := context.Background()
	var r *reconciler
	fail := true
	written := 0
	check := func(o client.Object) error {
		s, ok := o.(*corev1.Secret)
		if !ok {
			return nil
		}
		if !accepts(t, r.Library, string(s.Data[tokens.ValueKey])) {
			t.Error("a value is written that the library does not accept yet")
		}
		if fail {
			return errors.New("the API server has gone")
		}
		written++
		return nil
	}
	o := token(func(s *v1alpha1.AccessTokenSpec) {
		s.Rotation = &v1alpha1.Rotation{Every: metav1.Duration{Duration: time.Hour}, Overlap: metav1.Duration{Duration: time.Minute}}
	})
	r, server := newReconciler(t, tokenKind(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if err := check(o); err != nil {
				return err
			}
			return c.Create(ctx, o, options...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			if err := check(o); err != nil {
				return err
			}
			return c.Update(ctx, o, options...)
		},
	}, o)
	now := start
	r.Clock = func() time.Time { return now }
	reconcile := func(fails bool) string {
		t.Helper()
		fail = fails
		if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: storefront}); (err != nil) != fails {
			t.Fatalf("Reconcile: %v", err)
		}
		s := &corev1.Secret{}
		if err := server.Get(ctx, storefront, s); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return string(s.Data[tokens.ValueKey])
	}

	if got := reconcile(true); got != "" {
		t.Fatal("a Secret was written despite the error")
	}
	first := reconcile(false)
	now = now.Add(time.Hour)
	if got := reconcile(true); got != first || !accepts(t, r.Library, first) {
		t.Error("a rotation that could not be written removed the old value")
	}
	second := reconcile(false)
	if second == first || !accepts(t, r.Library, first) || !accepts(t, r.Library, second) {
		t.Error("both values have to work during the overlap")
	}
	d, err := r.Library.Definition(ctx, library.Owner{Install: "c", Kind: library.KindToken, Namespace: "shop", Name: "storefront"})
	if err != nil || len(d.Token.Values) != 2 {
		t.Errorf("%d values are accepted (%v), want 2", len(d.Token.Values), err)
	}
	if written != 2 {
		t.Errorf("the Secret was written %d times, want 2", written)
	}
}

// accepts reports whether the stored definition of the token contains a value. It ignores expiry.
func accepts(t *testing.T, lib library.Library, value string) bool {
	t.Helper()
	d, err := lib.Definition(context.Background(), library.Owner{Install: "c", Kind: library.KindToken, Namespace: "shop", Name: "storefront"})
	if errors.Is(err, library.ErrNotFound) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range d.Token.Values {
		if v.Digest == sha256.Sum256([]byte(value)) {
			return true
		}
	}
	return false
}
