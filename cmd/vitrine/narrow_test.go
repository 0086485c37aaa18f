package main

import (
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

var narrowings = flag.Int("narrowings", 8, "how often TestReplicasNarrow narrows a token")

// TestReplicasNarrow narrows tokens and widens them again, and measures how long two replicas still grant the earlier rights. It narrows the
// query of a token, its actions, the query of the Property, and the grants of the Property, one after the other.
func TestReplicasNarrow(t *testing.T) {
	k, replica := newReplicas(t)
	replicas := []*instance{replica(), replica()}
	named := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: name} }
	writer, secret := tokenOf(t, k), &corev1.Secret{}
	within(t, takeover, "the token of the web page", func() bool { return k.Get(t.Context(), named("storefront"), secret) == nil })
	reader := string(secret.Data["token"])
	t.Setenv("VITRINE_SERVER", "http://"+replicas[0].addresses["http"])
	t.Setenv("VITRINE_TOKEN", writer)
	t.Setenv("VITRINE_CA_FILE", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	within(t, takeover, "the replicas accept the token", func() bool { return replicas[0].status(writer) == 200 && replicas[1].status(writer) == 200 })
	vitrine(t.Context(), itemLines(1, 4), "import", "-").want(t, 0, "4 added")

	// update changes an object until it is not in conflict with the operator.
	update := func(o kube.Object, name string, change func()) {
		t.Helper()
		within(t, takeover, "an update of "+name, func() bool {
			if err := k.Get(t.Context(), named(name), o); err != nil {
				return false
			}
			change()
			return k.Update(t.Context(), o) == nil
		})
	}
	total := func(s *instance, token string, want int) bool {
		_, body := get(t, s.url(token))
		return strings.Contains(body, fmt.Sprintf(`"total_results":%d,`, want))
	}
	erases := func(s *instance) bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://"+s.addresses["http"]+"/v2/content/999?access_token="+writer, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode == http.StatusNotFound
	}
	token, shop := &v1alpha1.AccessToken{}, &v1alpha1.Property{}
	allow := func(granted bool) {
		update(shop, "default", func() {
			if shop.Spec.AllowFrom = nil; granted {
				shop.Spec.AllowFrom = []v1alpha1.PropertyGrant{{
					Namespaces: v1alpha1.GrantedNamespaces{Names: []string{"fair"}}, Kinds: []string{v1alpha1.AccessTokenKind},
				}}
			}
		})
	}
	guest := newGuest(t, k, func() { allow(true) })
	kinds := []struct {
		narrow func(narrow bool)
		wide   func(s *instance) bool
	}{
		{func(narrow bool) {
			update(token, "backoffice", func() { token.Spec.Query = map[bool]string{true: "id:[1 TO 2]"}[narrow] })
		}, func(s *instance) bool { return total(s, writer, 4) }},
		{func(narrow bool) {
			update(token, "backoffice", func() {
				if token.Spec.Allow = nil; narrow {
					token.Spec.Allow = []v1alpha1.TokenAction{v1alpha1.TokenAction(library.Moderate)}
				}
			})
		}, erases},
		{func(narrow bool) {
			update(shop, "default", func() { shop.Spec.ReadOnlyQuery = map[bool]string{true: "id:3", false: "approval_status:app"}[narrow] })
		}, func(s *instance) bool { return total(s, reader, 4) }},
		{func(narrow bool) { allow(!narrow) }, func(s *instance) bool { return total(s, guest, 4) }},
	}
	var slowest time.Duration
	late := 0
	for i := range *narrowings {
		kind := kinds[i%len(kinds)]
		within(t, takeover, "the rights are wide", func() bool { return kind.wide(replicas[0]) && kind.wide(replicas[1]) })
		kind.narrow(true)
		began := time.Now()
		within(t, takeover, "the rights are narrow", func() bool { return !kind.wide(replicas[0]) && !kind.wide(replicas[1]) })
		took := time.Since(began)
		if slowest = max(slowest, took); took > time.Second {
			late++
		}
		kind.narrow(false)
	}
	t.Logf("%d times: at most %s, %d later than a second", *narrowings, slowest.Round(time.Millisecond), late)
}

// newGuest returns the value of a READ-ONLY AccessToken in the namespace fair for the Property shop/default, which allow permits.
func newGuest(t *testing.T, k kube.Client, allow func()) string {
	t.Helper()
	at := metav1.ObjectMeta{Namespace: "fair", Name: "display"}
	for _, o := range []kube.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "fair"}},
		&v1alpha1.AccessToken{ObjectMeta: at, Spec: v1alpha1.AccessTokenSpec{
			Class: v1alpha1.ReadOnly, PropertyRef: &v1alpha1.PropertyReference{Namespace: "shop", Name: "default"},
		}},
	} {
		if err := k.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	allow()
	secret := &corev1.Secret{}
	within(t, takeover, "the Secret of the guest", func() bool {
		return k.Get(t.Context(), kube.ObjectKey{Namespace: "fair", Name: "display"}, secret) == nil
	})
	return string(secret.Data["token"])
}
