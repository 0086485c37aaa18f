package main

import (
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

var narrowings = flag.Int("narrowings", 6, "how often TestReplicasNarrow narrows a token")

// TestReplicasNarrow narrows tokens and widens them again, and measures how long two replicas still grant the earlier rights. It narrows the
// query of a token, its actions, and the query of the Property, one after the other.
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
