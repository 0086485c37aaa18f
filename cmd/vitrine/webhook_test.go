package main

import (
	"net"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// freeAddress returns a loopback address on which no process listens, for tests that need the address before it is bound.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestWebhook checks that a real API server trusts the certificate of the webhook, and that the webhook validates manifests.
func TestWebhook(t *testing.T) {
	k, config := newCluster(t)
	if err := k.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	s := startIn(t, config, "--webhook-bind-address", address, "--webhook-url", "https://"+address+"/", "--debug-bind-address", "127.0.0.1:0")
	broken := &v1alpha1.ContentFilter{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "broken"}, Spec: v1alpha1.ContentFilterSpec{Query: "a AND"},
	}
	eventually(t, "refused", func() bool {
		err := k.Create(t.Context(), broken.DeepCopy(), kube.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "spec.query: nothing after AND at position 5")
	})
	sound := broken.DeepCopy()
	sound.Spec.Query = "love"
	if err := k.Create(t.Context(), sound, kube.DryRunAll); err != nil {
		t.Errorf("a valid filter: %v", err)
	}
	if _, page := get(t, "http://"+s.addresses["metrics"]+"/metrics"); !strings.Contains(page, `vitrine_admission_reviews_total{kind="ContentFilter",outcome="refused"}`) {
		t.Error("refusals are not counted")
	}
	if code, _ := get(t, "http://"+s.addresses["debug"]+"/debug/pprof/goroutine?debug=1"); code != http.StatusOK {
		t.Errorf("profiles: %d", code)
	}
	if code, _ := get(t, "http://"+s.addresses["debug"]+"/debug/pprof/cmdline"); code == http.StatusOK {
		t.Error("the command line can be read")
	}
}

func TestWebhookFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		says string
	}{
		"without a cluster":        {[]string{"--webhook-bind-address", ":0", "--without-kubernetes"}, "cannot be used with --without-kubernetes"},
		"no address":               {[]string{"--webhook-url", "https://a.example"}, "need --webhook-bind-address"},
		"plain HTTP":               {[]string{"--webhook-bind-address", ":0", "--webhook-url", "http://a.example"}, "must be an absolute https URL"},
		"no configuration":         {[]string{"--webhook-bind-address", ":0", "--webhook-configuration", ""}, "must not be empty"},
		"hosts without an address": {[]string{"--webhook-hosts", "a"}, "need --webhook-bind-address"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			vitrine(t.Context(), "", append([]string{"serve"}, tc.args...)...).want(t, exitUsage, tc.says)
		})
	}
	o := webhookOptions{address: "10.0.0.1:9443", url: "https://hook.example:9443", hosts: []string{"a.svc"}}
	if got := strings.Join(o.certificateHosts(), " "); got != "localhost 127.0.0.1 ::1 hook.example 10.0.0.1 a.svc" {
		t.Errorf("hosts of the certificate: %s", got)
	}
}
