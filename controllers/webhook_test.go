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
	restart := func() {
		GinkgoHelper()
		policy, err := webhooks.ParsePolicy([]string{"127.0.0.1"})
		Expect(err).NotTo(HaveOccurred())
		w.start(func(o *cluster.Options) { o.WebhookPolicy = policy })
	}
	BeforeEach(func(ctx context.Context) {
		w = newServedWorld(ctx)
		restart()
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
		Expect(w.condition(ctx, o, v1alpha1.DeliveringCondition).Message).To(Equal("1 change waits, because the receiver responded with 503: the server retries."))
		Expect(v1alpha1.StateOf(o).Tells.Type).To(Equal(v1alpha1.DeliveringCondition))
		code.Store(http.StatusOK)
		delivering(ctx, o, v1alpha1.ReasonDelivering)
		code.Store(http.StatusGone)
		put(ctx, 8)
		delivering(ctx, o, v1alpha1.ReasonDeliveryStopped)
	})

	// annotate sets an annotation of a Webhook.
	annotate := func(ctx context.Context, o *v1alpha1.Webhook, name, value string) {
		GinkgoHelper()
		w.change(ctx, o, func() { o.SetAnnotations(map[string]string{name: value}) })
	}
	tested := func(ctx context.Context, o *v1alpha1.Webhook) *v1alpha1.WebhookTest {
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		return o.Status.LastTest
	}
	replayed := func(ctx context.Context, o *v1alpha1.Webhook) *v1alpha1.WebhookReplay {
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		return o.Status.LastReplay
	}
	It("sends a test for each value of the annotation", func(ctx context.Context) {
		o := w.webhook("moderator", receiver.URL)
		w.apply(ctx, o)
		key := string(secret(ctx, "moderator-webhook").Data[tokens.SigningKey])
		verified("content.reset", key)
		annotate(ctx, o, v1alpha1.TestAnnotation, "first")
		verified("content.test", key)
		Eventually(tested).WithArguments(ctx, o).Should(HaveField("Request", "first"))
		Expect(o.Status.LastTest.Problem).To(BeEmpty())
		Expect(o.Status.LastTest.Time).NotTo(BeNil())

		By("reporting a failed test, which does not affect the deliveries")
		code.Store(http.StatusGone)
		annotate(ctx, o, v1alpha1.TestAnnotation, "second")
		verified("content.test", key)
		Eventually(tested).WithArguments(ctx, o).Should(HaveField("Problem", "the receiver responded with 410"))
		delivering(ctx, o, v1alpha1.ReasonDelivering)
		code.Store(http.StatusNoContent)
		put(ctx, 7)
		verified(`"id":7`, key)

		By("sending a test that was requested while no operator ran, once")
		w.stop()
		hostile := "\r\n\x00'\"{{%s}}" + strings.Repeat("🙂", 10)
		annotate(ctx, o, v1alpha1.TestAnnotation, hostile)
		restart()
		verified("content.test", key)
		Eventually(tested).WithArguments(ctx, o).Should(HaveField("Request", hostile))
		restart()
		put(ctx, 8)
		verified(`"id":8`, key)
		for len(got) > 0 {
			Expect(string((<-got).body)).NotTo(ContainSubstring("content.test"))
		}

		By("refusing a value that is too long")
		annotate(ctx, o, v1alpha1.TestAnnotation, strings.Repeat("x", 100_000))
		Eventually(tested).WithArguments(ctx, o).Should(HaveField("Problem", "the annotation vitrine.dev/test has more than 64 bytes"))
		Expect(w.settle(ctx, o, kstatus.CurrentStatus).Reason).To(Equal(v1alpha1.ReasonServed))

		By("testing a suspended object")
		w.change(ctx, o, func() { o.Spec.Suspend = true })
		annotate(ctx, o, v1alpha1.TestAnnotation, "suspended")
		verified("content.test", key)
		Eventually(tested).WithArguments(ctx, o).Should(HaveField("Request", "suspended"))
	})

	It("replays what it has sent since the time in the annotation", func(ctx context.Context) {
		o := w.webhook("moderator", receiver.URL)
		w.apply(ctx, o)
		key := string(secret(ctx, "moderator-webhook").Data[tokens.SigningKey])
		verified("content.reset", key)
		install, err := w.lib.Mark("install")
		Expect(err).NotTo(HaveOccurred())
		trail := func() (string, error) {
			return w.lib.Mark("webhooks/" + install + "/" + w.namespace + "/moderator/trail")
		}
		Eventually(trail).Should(ContainSubstring("cursor"))
		w.clock.advance(time.Hour)
		put(ctx, 7)
		verified(`"id":7`, key)

		By("reporting a value that is not a time")
		annotate(ctx, o, v1alpha1.ReplaySinceAnnotation, "yesterday\n")
		Eventually(replayed).WithArguments(ctx, o).Should(HaveField("Problem", ContainSubstring("must be a time in the format of RFC 3339")))
		Expect(w.settle(ctx, o, kstatus.CurrentStatus).Reason).To(Equal(v1alpha1.ReasonServed))
		Expect(got).To(BeEmpty())

		By("restarting a receiver that has stopped the deliveries, while the operator restarts")
		code.Store(http.StatusGone)
		put(ctx, 8)
		delivering(ctx, o, v1alpha1.ReasonDeliveryStopped)
		w.stop()
		since := w.clock.Now().Add(-time.Minute).Format(time.RFC3339)
		annotate(ctx, o, v1alpha1.ReplaySinceAnnotation, since)
		code.Store(http.StatusNoContent)
		restart()
		verified(`{"id":7,"event":"entered"},{"id":8,"event":"entered"}`, key)
		Eventually(replayed).WithArguments(ctx, o).Should(HaveField("Request", since))
		Expect(o.Status.LastReplay.From.Time).To(BeTemporally("<", w.clock.Now().Add(-50*time.Minute)))
		delivering(ctx, o, v1alpha1.ReasonDelivering)

		By("writing no status again in a further pass")
		before := rounds(v1alpha1.WebhookKind)
		w.change(ctx, o, func() { o.Annotations["note"] = "unrelated" })
		version := o.ResourceVersion
		Eventually(func() float64 { return rounds(v1alpha1.WebhookKind) }).Should(BeNumerically(">", before))
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		Expect(o.ResourceVersion).To(Equal(version))

		By("sending a reset if the time is too long ago")
		annotate(ctx, o, v1alpha1.ReplaySinceAnnotation, "0000-01-01T00:00:00+23:59")
		verified("content.reset", key)
		Eventually(replayed).WithArguments(ctx, o).Should(And(HaveField("Request", "0000-01-01T00:00:00+23:59"), HaveField("From", BeNil())))

		By("removing all cursors after the deletion")
		w.remove(ctx, o)
		Eventually(trail).Should(BeEmpty())
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
		restart()
		put(ctx, 8)
		verified(`"id":8`, key)
		w.remove(ctx, o)
		install, err := w.lib.Mark("install")
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() (string, error) { return w.lib.Mark("webhooks/" + install + "/" + w.namespace + "/moderator") }).Should(BeEmpty())
	})
})
