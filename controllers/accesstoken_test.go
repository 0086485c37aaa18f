package controllers_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/server/library"
)

// secret returns a Secret that the operator does not own, with the value under the key token.
func (w *world) secret(name, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: w.meta(name), Data: map[string][]byte{"token": []byte(value)}}
}

// own reads a Secret that the operator has written.
func (w *world) own(ctx context.Context, name string) *corev1.Secret {
	GinkgoHelper()
	s := &corev1.Secret{}
	Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, s)).To(Succeed())
	return s
}

// accepts reports whether a server would accept a value now.
func (w *world) accepts(value string) bool {
	GinkgoHelper()
	digest := library.Digest(sha256.Sum256([]byte(value)))
	for _, t := range w.accepted() {
		if slices.ContainsFunc(t.Values, func(v library.TokenValue) bool {
			return v.Digest == digest && (v.Expires.IsZero() || w.clock.Now().Before(v.Expires))
		}) {
			return true
		}
	}
	return false
}

// nudge changes the Secret of a token to cause a reconcile, because advancing the fake clock does not cause a reconcile.
func (w *world) nudge(ctx context.Context, name string) {
	GinkgoHelper()
	before := rounds(v1alpha1.AccessTokenKind)
	s := w.own(ctx, name)
	Expect(kube.Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"nudged":"`+w.clock.Now().String()+`"}}}`)))).To(Succeed())
	Eventually(func() float64 { return rounds(v1alpha1.AccessTokenKind) }).Should(BeNumerically(">", before))
}

var _ = Describe("AccessToken", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newServedWorld(ctx) })

	It("writes a Secret that it owns, whose token is accepted until the object is deleted", func(ctx context.Context) {
		t := w.token("storefront")
		w.apply(ctx, t)
		s := w.own(ctx, "storefront")
		Expect(metav1.IsControlledBy(s, t)).To(BeTrue())
		Expect(s.Labels).To(HaveKeyWithValue(tokens.Label, "storefront"))
		value := string(s.Data["token"])
		raw, err := base64.RawURLEncoding.DecodeString(value)
		Expect(err).NotTo(HaveOccurred(), "the token is URL-safe")
		Expect(len(raw) * 8).To(BeNumerically(">=", 256))
		Expect(s.Data).To(HaveKeyWithValue("url", []byte(externalURL)))
		Expect(s.Data).To(HaveKeyWithValue("ca.crt", []byte(caBundle)))
		Expect(t.Status.SecretName).To(Equal("storefront"))
		Expect(t.Status.LastRotation).NotTo(BeNil())
		Expect(w.accepts(value)).To(BeTrue())

		w.remove(ctx, t)
		Eventually(func() bool { return w.accepts(value) }, "1s").Should(BeFalse(), "revoked within a second")
	})

	It("keeps its value after a restart, and updates url and ca.crt when they change", func(ctx context.Context) {
		t := w.token("storefront")
		t.Spec.SecretName = "elsewhere"
		w.apply(ctx, t)
		value := string(w.own(ctx, "elsewhere").Data["token"])
		w.stop()
		w.start(func(o *cluster.Options) { o.CABundle, o.ExternalURL = nil, "https://moved.example" })
		Eventually(func() map[string][]byte { return w.own(ctx, "elsewhere").Data }).Should(Equal(map[string][]byte{
			"token": []byte(value), "url": []byte("https://moved.example"),
		}))
		Expect(w.accepts(value)).To(BeTrue())
	})

	// valueIn waits until a Secret of the operator exists, and returns the value in it.
	valueIn := func(ctx context.Context, name string) string {
		GinkgoHelper()
		Eventually(func() error {
			return kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &corev1.Secret{})
		}).Should(Succeed(), "Secret %s", name)
		return string(w.own(ctx, name).Data["token"])
	}
	gone := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &corev1.Secret{}))
		}).Should(BeTrue(), "Secret %s must be deleted", name)
	}
	for _, restart := range []bool{false, true} {
		during := map[bool]string{false: "", true: ", when the operator is down during the changes"}[restart]
		It("rotates its value when secretName changes, and removes the previous Secret after the overlap"+during, func(ctx context.Context) {
			t := w.token("front")
			t.Spec.SecretName = "a"
			t.Spec.Rotation = &v1alpha1.Rotation{Every: metav1.Duration{Duration: 168 * time.Hour}, Overlap: metav1.Duration{Duration: time.Hour}}
			w.apply(ctx, t)
			first := valueIn(ctx, "a")
			rename := func(name string) {
				GinkgoHelper()
				if restart {
					w.stop()
				}
				w.change(ctx, t, func() { t.Spec.SecretName = name })
				if restart {
					w.start()
				}
				w.settle(ctx, t, kstatus.CurrentStatus)
				Expect(t.Status.SecretName).To(Equal(name))
			}
			rename("b")
			second := valueIn(ctx, "b")
			Expect(second).NotTo(Equal(first))
			Expect(w.accepts(first) && w.accepts(second)).To(BeTrue(), "both values are accepted during the overlap")
			Expect(valueIn(ctx, "a")).To(Equal(first))

			w.clock.advance(30 * time.Minute)
			rename("a")
			third := valueIn(ctx, "a")
			Expect([]string{first, second}).NotTo(ContainElement(third), "the value of the previous Secret does not become current again")
			Expect(w.accepts(first) && w.accepts(second) && w.accepts(third)).To(BeTrue())

			w.clock.advance(31 * time.Minute)
			w.nudge(ctx, "a")
			Expect(w.accepts(first)).To(BeFalse(), "its overlap has ended")
			Expect(w.accepts(second)).To(BeTrue())
			Expect(valueIn(ctx, "b")).To(Equal(second))
			w.clock.advance(time.Hour)
			w.nudge(ctx, "a")
			gone(ctx, "b")
			Expect(w.accepts(second)).To(BeFalse())

			rename("b")
			fourth := valueIn(ctx, "b")
			Expect([]string{first, second, third}).NotTo(ContainElement(fourth))
			Expect(w.accepts(second)).To(BeFalse())
			Expect(w.accepts(third) && w.accepts(fourth)).To(BeTrue())
		})
	}

	It("moves its value when secretName changes, if there is no rotation", func(ctx context.Context) {
		t := w.token("front")
		w.apply(ctx, t)
		value := valueIn(ctx, "front")
		for _, name := range []string{"b", "front"} {
			was := t.Status.SecretName
			w.change(ctx, t, func() { t.Spec.SecretName = name })
			w.settle(ctx, t, kstatus.CurrentStatus)
			Expect(valueIn(ctx, name)).To(Equal(value))
			gone(ctx, was)
			Expect(w.accepts(value)).To(BeTrue())
		}
	})

	It("removes its own Secret when existingSecret replaces it, and no other Secret", func(ctx context.Context) {
		t, other := w.token("front"), w.token("other")
		w.apply(ctx, t)
		w.apply(ctx, other)
		value := valueIn(ctx, "front")
		Expect(kube.Create(ctx, w.secret("sealed", strings.Repeat("s", 40)))).To(Succeed())
		w.change(ctx, t, func() { t.Spec.ExistingSecret = &v1alpha1.SecretKeyReference{Name: "sealed", Key: "token"} })
		w.settle(ctx, t, kstatus.CurrentStatus)
		gone(ctx, "front")
		Expect(w.accepts(value)).To(BeFalse())
		w.change(ctx, t, func() { t.Spec.ExistingSecret = nil })
		w.settle(ctx, t, kstatus.CurrentStatus)
		Expect(valueIn(ctx, "front")).NotTo(Equal(value))
		Expect(w.own(ctx, "sealed").Data).To(HaveKeyWithValue("token", []byte(strings.Repeat("s", 40))))
		Expect(w.accepts(valueIn(ctx, "other"))).To(BeTrue())
	})

	It("repairs its Secret", func(ctx context.Context) {
		t := w.token("storefront")
		w.apply(ctx, t)
		s := w.own(ctx, "storefront")
		value := string(s.Data["token"])
		s.Data["url"] = []byte("https://elsewhere.example")
		Expect(kube.Update(ctx, s)).To(Succeed())
		Eventually(func() string { return string(w.own(ctx, "storefront").Data["url"]) }).Should(Equal(externalURL))
		Expect(w.accepts(value)).To(BeTrue())
	})

	It("issues another value when its Secret is deleted, and the old one stops working", func(ctx context.Context) {
		w.apply(ctx, w.token("storefront"))
		old := w.own(ctx, "storefront")
		Expect(kube.Delete(ctx, old)).To(Succeed())
		Eventually(func() error {
			return kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "storefront"}, &corev1.Secret{})
		}).Should(Succeed())
		fresh := w.own(ctx, "storefront")
		Expect(fresh.Data["token"]).NotTo(Equal(old.Data["token"]))
		Expect(w.accepts(string(fresh.Data["token"]))).To(BeTrue())
		Expect(w.accepts(string(old.Data["token"]))).To(BeFalse())
	})

	It("supports a name that is longer than a label value", func(ctx context.Context) {
		name := strings.Repeat("long-", 20) + "name"
		t := w.token(name)
		w.apply(ctx, t)
		s := w.own(ctx, name)
		s.Data["url"] = nil
		Expect(kube.Update(ctx, s)).To(Succeed())
		Eventually(func() string { return string(w.own(ctx, name).Data["url"]) }).Should(Equal(externalURL))
	})

	It("never touches a Secret that it does not own", func(ctx context.Context) {
		foreign := w.secret("storefront", "mine")
		Expect(kube.Create(ctx, foreign)).To(Succeed())
		t := w.token("storefront")
		Expect(kube.Create(ctx, t)).To(Succeed())
		ready := w.settle(ctx, t, kstatus.FailedStatus)
		Expect(ready.Reason).To(Equal(v1alpha1.ReasonSecretConflict))
		Expect(w.condition(ctx, t, v1alpha1.ConflictCondition)).NotTo(BeNil())
		Expect(w.own(ctx, "storefront").ResourceVersion).To(Equal(foreign.ResourceVersion))
		Expect(w.accepted()).To(BeEmpty())

		w.change(ctx, t, func() { t.Spec.SecretName = "free" })
		w.settle(ctx, t, kstatus.CurrentStatus)
		Expect(w.accepts(string(w.own(ctx, "free").Data["token"]))).To(BeTrue())
	})

	It("does not write a Secret that belongs to the operator of another store", func(ctx context.Context) {
		t := w.token("storefront")
		w.apply(ctx, t)
		before := w.own(ctx, "storefront")

		second := newWorld(ctx)
		second.namespace = w.namespace
		second.start(func(o *cluster.Options) { o.CABundle, o.ExternalURL = nil, "https://second.example" })
		ready := w.settle(ctx, t, kstatus.FailedStatus)
		Expect(ready.Reason).To(Equal(v1alpha1.ReasonSecretConflict))
		Expect(ready.Message).To(ContainSubstring(": stop one of them, or run kubectl annotate secret"))
		Expect(w.condition(ctx, t, v1alpha1.ConflictCondition)).NotTo(BeNil())
		// Each change to the Secret makes both operators reconcile the token.
		w.nudge(ctx, "storefront")
		w.clock.advance(time.Second) // nudge writes the current time, which must differ from the time of the previous nudge
		w.nudge(ctx, "storefront")
		after := w.own(ctx, "storefront")
		Expect(after.Data).To(Equal(before.Data))
		Expect(w.accepts(string(before.Data["token"]))).To(BeTrue(), "the first operator keeps serving")
		Expect(second.accepted()).To(BeEmpty())

		// The first operator and its store no longer exist. The user hands the Secret over by removing the annotation.
		w.stop()
		Expect(kube.Patch(ctx, after, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"vitrine.dev/store":null}}}`)))).To(Succeed())
		Eventually(func() map[string][]byte { return w.own(ctx, "storefront").Data }).
			Should(Equal(map[string][]byte{"token": before.Data["token"], "url": []byte("https://second.example")}))
		Eventually(func() bool { return second.accepts(string(before.Data["token"])) }).Should(BeTrue(), "apps keep their token")
		// The present status may be from the first operator, so wait until the second operator has written its own.
		w.settle(ctx, t, kstatus.CurrentStatus)
		second.stop()
	})

	It("rotates: the old value works during the overlap and no longer", func(ctx context.Context) {
		t := w.token("storefront")
		t.Spec.Rotation = &v1alpha1.Rotation{Every: hours(168), Overlap: hours(1)}
		w.apply(ctx, t)
		first := string(w.own(ctx, "storefront").Data["token"])

		w.clock.advance(167 * time.Hour)
		w.nudge(ctx, "storefront")
		Expect(string(w.own(ctx, "storefront").Data["token"])).To(Equal(first), "it is not due yet")

		w.clock.advance(time.Hour)
		w.nudge(ctx, "storefront")
		Eventually(func() string { return string(w.own(ctx, "storefront").Data["token"]) }).ShouldNot(Equal(first))
		second := string(w.own(ctx, "storefront").Data["token"])
		Eventually(func() any { return w.accepted()["storefront"].Values }).Should(HaveLen(2))
		Expect(w.accepts(first)).To(BeTrue())
		Expect(w.accepts(second)).To(BeTrue())
		Eventually(func() (time.Time, error) {
			err := kube.Get(ctx, client.ObjectKeyFromObject(t), t)
			return t.Status.LastRotation.Time, err
		}).Should(BeTemporally("~", w.clock.Now(), time.Second))

		w.clock.advance(time.Hour)
		Expect(w.accepts(first)).To(BeFalse())
		Expect(w.accepts(second)).To(BeTrue())
		w.nudge(ctx, "storefront")
		Eventually(func() any { return w.accepted()["storefront"].Values }).Should(HaveLen(1))
		Expect(string(w.own(ctx, "storefront").Data["token"])).To(Equal(second))
	})

	It("keeps both values of an overlap after a restart", func(ctx context.Context) {
		t := w.token("storefront")
		t.Spec.Rotation = &v1alpha1.Rotation{Every: hours(168), Overlap: hours(1)}
		w.apply(ctx, t)
		first := string(w.own(ctx, "storefront").Data["token"])
		w.stop()
		w.clock.advance(168 * time.Hour)
		w.start()
		Eventually(func() any { return w.accepted()["storefront"].Values }).Should(HaveLen(2), "a rotation that was due while the operator was down")
		Eventually(func() string { return string(w.own(ctx, "storefront").Data["token"]) }).ShouldNot(Equal(first))
		w.stop()
		w.start()
		second := string(w.own(ctx, "storefront").Data["token"])
		Expect(second).NotTo(Equal(first))
		Consistently(func() bool { return w.accepts(first) && w.accepts(second) }, "500ms").Should(BeTrue())
	})

	It("expires, reports that, and gets a new value when the Secret is deleted", func(ctx context.Context) {
		t := w.token("storefront")
		t.Spec.ExpiresAfter = &metav1.Duration{Duration: 720 * time.Hour}
		w.apply(ctx, t)
		value := string(w.own(ctx, "storefront").Data["token"])
		Expect(t.Status.ExpiresAt.Time).To(BeTemporally("~", w.clock.Now().Add(720*time.Hour), time.Second))
		w.clock.advance(720 * time.Hour)
		Expect(w.accepts(value)).To(BeFalse())
		w.nudge(ctx, "storefront")
		Expect(w.settle(ctx, t, kstatus.FailedStatus).Reason).To(Equal(v1alpha1.ReasonExpired))

		Expect(kube.Delete(ctx, w.own(ctx, "storefront"))).To(Succeed())
		w.settle(ctx, t, kstatus.CurrentStatus)
		Expect(w.accepts(string(w.own(ctx, "storefront").Data["token"]))).To(BeTrue())
	})

	It("does not rotate while suspended, but expires", func(ctx context.Context) {
		t := w.token("storefront")
		t.Spec.Rotation = &v1alpha1.Rotation{Every: hours(168), Overlap: hours(1)}
		t.Spec.ExpiresAfter = &metav1.Duration{Duration: 720 * time.Hour}
		w.apply(ctx, t)
		value := string(w.own(ctx, "storefront").Data["token"])
		w.change(ctx, t, func() { t.Spec.Suspend = true })
		w.settle(ctx, t, kstatus.CurrentStatus)

		w.clock.advance(168 * time.Hour)
		w.nudge(ctx, "storefront")
		Expect(string(w.own(ctx, "storefront").Data["token"])).To(Equal(value))
		Expect(w.accepts(value)).To(BeTrue())
		w.clock.advance(720 * time.Hour)
		Expect(w.accepts(value)).To(BeFalse())
		w.nudge(ctx, "storefront")
		ready := w.settle(ctx, t, kstatus.FailedStatus)
		Expect(ready.Reason).To(Equal(v1alpha1.ReasonExpired))
		Expect(ready.Message).To(ContainSubstring(t.Status.ExpiresAt.UTC().Format(time.RFC3339)))
		Expect(w.condition(ctx, t, v1alpha1.SuspendedCondition)).NotTo(BeNil())

		w.change(ctx, t, func() { t.Spec.Suspend = false })
		w.settle(ctx, t, kstatus.CurrentStatus)
	})

	Context("with an existingSecret", func() {
		const value = "0123456789abcdefghijklmnopqrstuvwxyz"
		var t *v1alpha1.AccessToken
		BeforeEach(func() {
			t = w.token("storefront")
			t.Spec.ExistingSecret = &v1alpha1.SecretKeyReference{Name: "sealed", Key: "token"}
		})

		It("reads it, removes a trailing newline, and never writes it", func(ctx context.Context) {
			s := w.secret("sealed", value+"\n")
			Expect(kube.Create(ctx, s)).To(Succeed())
			w.apply(ctx, t)
			Expect(w.accepts(value)).To(BeTrue())
			Expect(t.Status.SecretName).To(Equal("sealed"))
			Expect(w.own(ctx, "sealed").ResourceVersion).To(Equal(s.ResourceVersion))
		})

		It("waits for it", func(ctx context.Context) {
			Expect(kube.Create(ctx, t)).To(Succeed())
			Expect(w.settle(ctx, t, kstatus.InProgressStatus).Reason).To(Equal(v1alpha1.ReasonSecretNotFound))
			s := w.secret("sealed", value)
			s.Labels = map[string]string{tokens.Label: "storefront"}
			Expect(kube.Create(ctx, s)).To(Succeed())
			w.settle(ctx, t, kstatus.CurrentStatus)
			Expect(w.accepts(value)).To(BeTrue())
		})

		It("follows a change of a labelled Secret, and refuses the old value", func(ctx context.Context) {
			s := w.secret("sealed", value)
			s.Labels = map[string]string{tokens.Label: "storefront"}
			Expect(kube.Create(ctx, s)).To(Succeed())
			w.apply(ctx, t)
			s.Data["token"] = []byte(strings.ToUpper(value))
			Expect(kube.Update(ctx, s)).To(Succeed())
			Eventually(func() bool { return w.accepts(strings.ToUpper(value)) }).Should(BeTrue())
			Expect(w.accepts(value)).To(BeFalse())
		})

		It("keeps the last valid value if the new one cannot be used", func(ctx context.Context) {
			s := w.secret("sealed", value)
			s.Labels = map[string]string{tokens.Label: "storefront"}
			Expect(kube.Create(ctx, s)).To(Succeed())
			w.apply(ctx, t)
			s.Data["token"] = []byte("long enough, and of several words all the same")
			Expect(kube.Update(ctx, s)).To(Succeed())
			ready := w.settle(ctx, t, kstatus.FailedStatus)
			Expect(ready.Reason).To(Equal(v1alpha1.ReasonSecretInvalid))
			Expect(ready.Message).To(HavePrefix("key token of Secret sealed: "))
			Expect(w.accepts(value)).To(BeTrue())
		})
	})

	It("grants the filters that it names, including later ones", func(ctx context.Context) {
		t := w.token("display")
		t.Spec.Filters = []string{"wall"}
		w.apply(ctx, t)
		uuid, _ := library.FilterIDs(w.id("default"), library.KindFilter, w.namespace, "wall")
		Expect(w.accepted()["display"].Filters).To(Equal([]string{uuid}))
		f := w.filter("wall", "approval_status:app")
		f.Spec.ReadAccess = v1alpha1.ReadAccessReadOnly
		w.apply(ctx, f)
		Expect(w.accepted()["display"].Filters).To(Equal([]string{f.Status.UUID}))
	})

	It("reveals its value only in the Secret", func(ctx context.Context) {
		t := w.token("storefront")
		t.Spec.Rotation = &v1alpha1.Rotation{Every: hours(168), Overlap: hours(1)}
		w.apply(ctx, t)
		values := []string{string(w.own(ctx, "storefront").Data["token"])}
		w.clock.advance(168 * time.Hour)
		w.nudge(ctx, "storefront")
		Eventually(func() string { return string(w.own(ctx, "storefront").Data["token"]) }).ShouldNot(Equal(values[0]))
		values = append(values, string(w.own(ctx, "storefront").Data["token"]))
		w.remove(ctx, t)
		Eventually(w.accepted).Should(BeEmpty())

		var events eventsv1.EventList
		Eventually(func() (int, error) {
			err := kube.List(ctx, &events, client.InNamespace(w.namespace))
			return len(events.Items), err
		}).ShouldNot(BeZero())
		told, err := json.Marshal(events)
		Expect(err).NotTo(HaveOccurred())
		shown, err := json.Marshal(t)
		Expect(err).NotTo(HaveOccurred())
		for _, v := range values {
			Expect(v).NotTo(BeEmpty())
			for _, text := range []string{w.logs.String(), string(told), string(shown)} {
				Expect(strings.Contains(text, v)).To(BeFalse(), "a token's value was revealed")
			}
		}
	})
})

func hours(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Hour} }
