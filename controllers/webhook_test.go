package controllers_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/webhooks"
)

var _ = Describe("A Webhook", func() {
	// hook is a delivery that a receiver has got.
	type hook struct {
		header http.Header
		body   []byte
	}
	var (
		w        *world
		got      chan hook
		code     atomic.Int64
		receiver *httptest.Server
	)
	BeforeEach(func(ctx context.Context) {
		w = newServedWorld(ctx)
		policy, err := webhooks.ParsePolicy([]string{"127.0.0.1"})
		Expect(err).NotTo(HaveOccurred())
		w.start(func(o *cluster.Options) { o.WebhookPolicy = policy })
		got = make(chan hook, 1000)
		code.Store(http.StatusNoContent)
		receiver = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err == nil {
				got <- hook{r.Header, body}
			}
			rw.WriteHeader(int(code.Load()))
		}))
		DeferCleanup(receiver.Close)
	})
	secret := func(ctx context.Context, name string) *corev1.Secret {
		GinkgoHelper()
		s := &corev1.Secret{}
		Expect(kube.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, s)).To(Succeed())
		return s
	}
	// verified waits for a delivery that contains a text, and verifies it with signing secrets. The clock of the world decides its time.
	verified := func(text string, secrets ...string) {
		GinkgoHelper()
		var h hook
		Eventually(func() string {
			Eventually(got).Should(Receive(&h))
			return string(h.body)
		}).Should(ContainSubstring(text))
		for _, s := range secrets {
			verifier, err := standardwebhooks.NewWebhook(s)
			Expect(err).NotTo(HaveOccurred())
			Expect(verifier.VerifyIgnoringTimestamp(h.body, h.header)).To(Succeed())
		}
		Expect(strings.Fields(h.header.Get("webhook-signature"))).To(HaveLen(len(secrets)))
	}
	put := func(ctx context.Context, id item.ID) {
		GinkgoHelper()
		_, err := w.lib.Write(ctx, w.id("default"), []library.Mutation{{Replace: true, Put: &item.Item{
			ID: id, ApprovalStatus: "pen", CreatedOn: "2026-11-20T08:00:00Z",
			Content: item.Content{ContentType: item.Text, Text: "beach"}, Submission: json.RawMessage(`{"email":"a@b.example"}`),
		}}})
		Expect(err).NotTo(HaveOccurred())
	}
	delivering := func(ctx context.Context, o client.Object, reason string) {
		GinkgoHelper()
		Eventually(func() string {
			if c := w.condition(ctx, o, v1alpha1.DeliveringCondition); c != nil {
				return c.Reason
			}
			return ""
		}).Should(Equal(reason))
		Expect(w.settle(ctx, o, kstatus.CurrentStatus).Reason).To(Equal(v1alpha1.ReasonServed))
	}

	It("delivers with the signing secret that the operator generates, and rotates it", func(ctx context.Context) {
		o := w.webhook("moderator", receiver.URL)
		o.Spec.Payload = v1alpha1.PayloadPublicItem
		o.Spec.Rotation = &v1alpha1.Rotation{Every: metav1.Duration{Duration: time.Hour}, Overlap: metav1.Duration{Duration: 10 * time.Minute}}
		w.apply(ctx, o)
		Expect(o.Status.SecretName).To(Equal("moderator-webhook"))
		s := secret(ctx, "moderator-webhook")
		first := string(s.Data[tokens.SigningKey])
		Expect(s.Data).To(HaveLen(1))
		Expect(metav1.IsControlledBy(s, o)).To(BeTrue())
		verified("content.reset", first)
		put(ctx, 7)
		verified(`"event":"entered"`, first)

		By("signing with two secrets during the overlap")
		w.clock.advance(time.Hour)
		reconcile := func() {
			w.change(ctx, o, func() { o.Spec.Payload = v1alpha1.PayloadIDs })
			w.settle(ctx, o, kstatus.CurrentStatus)
			w.change(ctx, o, func() { o.Spec.Payload = v1alpha1.PayloadPublicItem })
			w.settle(ctx, o, kstatus.CurrentStatus)
		}
		reconcile()
		s = secret(ctx, "moderator-webhook")
		second := string(s.Data[tokens.SigningKey])
		Expect(second).NotTo(Equal(first))
		Expect(string(s.Data[tokens.PreviousKey])).To(Equal(first))
		put(ctx, 8)
		verified(`"id":8`, first, second)

		By("signing with the new secret alone afterwards")
		w.clock.advance(10 * time.Minute)
		reconcile()
		Expect(secret(ctx, "moderator-webhook").Data).To(HaveLen(1))
		put(ctx, 9)
		verified(`"id":9`, second)
	})

	It("reports a failing receiver, and stays Ready", func(ctx context.Context) {
		o := w.webhook("moderator", receiver.URL)
		w.apply(ctx, o)
		delivering(ctx, o, v1alpha1.ReasonDelivering)
		code.Store(http.StatusServiceUnavailable)
		put(ctx, 7)
		delivering(ctx, o, v1alpha1.ReasonDeliveryFailed)
		Expect(w.condition(ctx, o, v1alpha1.DeliveringCondition).Message).To(Equal("Changes wait, because the receiver responded with 503: the server retries."))
		Expect(v1alpha1.StateOf(o).Tells.Type).To(Equal(v1alpha1.DeliveringCondition))
		code.Store(http.StatusOK)
		delivering(ctx, o, v1alpha1.ReasonDelivering)
		code.Store(http.StatusGone)
		put(ctx, 8)
		delivering(ctx, o, v1alpha1.ReasonDeliveryStopped)
	})

	It("refuses private addresses unless the server permits them", func(ctx context.Context) {
		w.start()
		o := w.webhook("moderator", strings.Replace(receiver.URL, "http:", "https:", 1))
		w.apply(ctx, o)
		delivering(ctx, o, v1alpha1.ReasonAddressRefused)
		Expect(got).To(BeEmpty())
	})

	It("waits for its ContentFilter, and uses a Secret of a user", func(ctx context.Context) {
		const a, b = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
		Expect(kube.Create(ctx, w.secret("mine", a+"\n"+b+"\n"))).To(Succeed())
		o := w.webhook("wall", receiver.URL)
		o.Spec.Query, o.Spec.FilterRef = "", &v1alpha1.FilterReference{Name: "pending"}
		o.Spec.ExistingSecret = &v1alpha1.SecretKeyReference{Name: "mine", Key: "token"}
		w.apply(ctx, o)
		delivering(ctx, o, v1alpha1.ReasonFilterNotFound)
		w.apply(ctx, w.filter("pending", "approval_status:pen"))
		verified("content.reset", a, b)
		delivering(ctx, o, v1alpha1.ReasonDelivering)

		By("stalling if the Secret is unusable")
		other := w.webhook("other", receiver.URL)
		other.Spec.ExistingSecret = &v1alpha1.SecretKeyReference{Name: "short", Key: "token"}
		Expect(kube.Create(ctx, w.secret("short", "whsec_dG9vc2hvcnQ="))).To(Succeed())
		Expect(kube.Create(ctx, other)).To(Succeed())
		Expect(w.settle(ctx, other, kstatus.FailedStatus).Reason).To(Equal(v1alpha1.ReasonSecretInvalid))
	})

	It("stalls if its name leaves no room for that of the Secret", func(ctx context.Context) {
		o := w.webhook(strings.Repeat("n", 253), receiver.URL)
		Expect(kube.Create(ctx, o)).To(Succeed())
		ready := w.settle(ctx, o, kstatus.FailedStatus)
		Expect(ready.Reason).To(Equal(v1alpha1.ReasonInvalidSpec))
		Expect(ready.Message).To(HavePrefix("metadata.name"))
		Expect(o.Status.SecretName).To(BeEmpty())
	})

	It("delivers while it is suspended, and not after its deletion", func(ctx context.Context) {
		o := w.webhook("moderator", receiver.URL)
		w.apply(ctx, o)
		key := string(secret(ctx, "moderator-webhook").Data[tokens.SigningKey])
		verified("content.reset", key)
		w.change(ctx, o, func() { o.Spec.Suspend, o.Spec.URL = true, "https://elsewhere.example/" })
		w.settle(ctx, o, kstatus.CurrentStatus)
		put(ctx, 7)
		verified(`"id":7`, key)
		policy, err := webhooks.ParsePolicy([]string{"127.0.0.1"})
		Expect(err).NotTo(HaveOccurred())
		w.start(func(o *cluster.Options) { o.WebhookPolicy = policy })
		put(ctx, 8)
		verified(`"id":8`, key)
		w.remove(ctx, o)
		install, err := w.lib.Mark("install")
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() (string, error) { return w.lib.Mark("webhooks/" + install + "/" + w.namespace + "/moderator") }).Should(BeEmpty())
	})
})
