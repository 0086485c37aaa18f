package connect

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// TestEachUnusableTokenIsReported checks that the error names every token that the command tried.
func TestEachUnusableTokenIsReported(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	token := func(name string, ready metav1.ConditionStatus) *v1alpha1.AccessToken {
		return &v1alpha1.AccessToken{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: v1alpha1.AccessTokenSpec{Class: v1alpha1.ReadWrite},
			Status: v1alpha1.AccessTokenStatus{SecretName: name, Conditions: []metav1.Condition{
				{Type: v1alpha1.ReadyCondition, Status: ready, Message: "the value expired"},
			}},
		}
	}
	deleted, now := token("deleted", metav1.ConditionTrue), metav1.Now()
	deleted.DeletionTimestamp, deleted.Finalizers = &now, []string{"foregroundDeletion"}
	objects := []kube.Object{
		deleted,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deleted"}, Data: map[string][]byte{
			"token": []byte(strings.Repeat("t", 40)), "url": []byte("https://127.0.0.1:1"),
		}},
		token("expired", metav1.ConditionFalse), token("forbidden", metav1.ConditionTrue), token("short", metav1.ConditionTrue),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "short"}, Data: map[string][]byte{"token": []byte("short")}},
	}
	k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	f := &v1alpha1.ContentFilter{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "wall"}}
	_, err := (&Reach{}).fromSecret(t.Context(), k, f, true)
	if err == nil {
		t.Fatal("a token is used")
	}
	for _, want := range []string{
		"AccessToken shop/deleted is being deleted", "AccessToken shop/expired is not Ready: the value expired", "read Secret shop/forbidden: ", "key token of Secret shop/short: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %q", want, err)
		}
	}
}
