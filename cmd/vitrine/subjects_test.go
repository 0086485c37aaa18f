package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
)

// TestSubjectsUnused checks that the status of an AccessToken with subjects depends on whether serve has an identity provider.
func TestSubjectsUnused(t *testing.T) {
	k, config := newCluster(t)
	apply(t, k, []string{manifest.Stdin}, `{apiVersion: vitrine.dev/v1alpha1, kind: Property, metadata: {name: default, namespace: default}, spec: {displayName: Shop}}
---
{apiVersion: vitrine.dev/v1alpha1, kind: AccessToken, metadata: {name: role, namespace: default}, spec: {class: ReadWrite, subjects: [{user: jo}]}}
`)
	data := filepath.Join(t.TempDir(), "data")
	secret := write(t, "secret", "the secret of the client")
	for _, c := range []struct {
		unused bool
		flags  []string
	}{
		{unused: true},
		{flags: []string{"--console", "--console-oidc-issuer-url", "http://127.0.0.1:1", "--console-oidc-client-id", "vitrine",
			"--console-oidc-client-secret-file", secret, "--console-oidc-redirect-url", "https://content.shop.example/console/login"}},
	} {
		s := start(t, data, append([]string{"--without-kubernetes=false", "--kubeconfig", config}, c.flags...)...)
		eventually(t, "the token is served, and its status reports whether the subjects have an effect", func() bool {
			token := &v1alpha1.AccessToken{}
			if err := k.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "role"}, token); err != nil {
				t.Fatal(err)
			}
			conditions := token.Status.Conditions
			return meta.IsStatusConditionTrue(conditions, v1alpha1.ReadyCondition) && meta.IsStatusConditionTrue(conditions, v1alpha1.SubjectsUnusedCondition) == c.unused
		})
		if status := s.signal(syscall.SIGTERM); status != 0 {
			t.Errorf("serve ends with %d", status)
		}
	}
}
