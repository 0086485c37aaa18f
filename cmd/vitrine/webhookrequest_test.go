package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
	"github.com/vitrine-dev/vitrine/internal/exit"
)

// TestWebhookRequests tests a Webhook and replays its deliveries with the plugin, against a server that follows a cluster.
func TestWebhookRequests(t *testing.T) {
	k, config := newCluster(t)
	if err := k.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", config)
	run := func(args ...string) result {
		return vitrine(t.Context(), "", append([]string{"webhook"}, append(args, "-n", "shop")...)...)
	}
	run("test", "moderator").want(t, exit.Failed, "namespace shop has no Webhook moderator")

	var code atomic.Int64
	code.Store(http.StatusNoContent)
	types := make(chan string, 1000)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Type string }
		if text, err := io.ReadAll(r.Body); err == nil && json.Unmarshal(text, &body) == nil {
			types <- body.Type
		}
		w.WriteHeader(int(code.Load()))
	}))
	t.Cleanup(receiver.Close)
	apply(t, k, []string{manifest.Stdin}, `
apiVersion: vitrine.dev/v1alpha1
kind: Property
metadata: {name: default, namespace: shop}
spec: {displayName: Shop}
---
apiVersion: vitrine.dev/v1alpha1
kind: Webhook
metadata: {name: moderator, namespace: shop}
spec: {url: "`+receiver.URL+`", query: 'approval_status:pen'}
`)
	run("test", "moderator", "--timeout", "1s").want(t, exit.Failed, "the operator did not respond within 1s: check that one of this version runs and watches namespace shop")

	startIn(t, config, "--webhook-allow-host", "127.0.0.1")
	run("test", "moderator").want(t, 0, "the receiver of Webhook shop/moderator accepted the test")
	run("replay", "moderator", "--since", "720h").want(t, 0, "the server sends the receiver of Webhook shop/moderator a reset, because")
	for kinds := ""; !strings.Contains(kinds, "content.test") || !strings.Contains(kinds, "content.reset"); {
		kinds += <-types
	}
	code.Store(http.StatusInternalServerError)
	failed := run("test", "moderator", "-o", "json")
	failed.want(t, exit.Failed, "vitrine: the test of Webhook shop/moderator failed: the receiver responded with 500\n")
	var outcome v1alpha1.WebhookTest
	if err := json.Unmarshal([]byte(failed.stdout), &outcome); err != nil || outcome.Problem != "the receiver responded with 500" || outcome.Request == "" {
		t.Errorf("%v, %+v", err, outcome)
	}
	run("replay", "moderator", "--since", "-1h").want(t, exit.Usage, "--since -1h0m0s: must be more than 0s")
	run("replay", "moderator", "other").want(t, exit.Usage, "2 arguments given: use vitrine webhook replay NAME")
	vitrine(t.Context(), "", "webhook", "tset").want(t, exit.Usage, `there is no command "tset" (did you mean test?)`)

	apply(t, k, []string{manifest.Stdin}, `
apiVersion: vitrine.dev/v1alpha1
kind: Webhook
metadata: {name: broken, namespace: shop}
spec: {url: "`+receiver.URL+`", query: 'a AND'}
`)
	eventually(t, "the Webhook is judged", func() bool {
		return strings.Contains(vitrine(t.Context(), "", "status", "-n", "shop").stdout, "InvalidQuery")
	})
	run("test", "broken", "--timeout", "1s").want(t, exit.Failed, "Webhook shop/broken is not ready: spec.query: nothing after AND")
}
