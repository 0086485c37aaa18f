package controllers_test

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/server/library"
)

var _ = Describe("Conflicting claims", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newServedWorld(ctx) })

	// refused expects that o is refused because of a claim, and that the message names the holder.
	refused := func(ctx context.Context, o, holder client.Object, reason string) {
		GinkgoHelper()
		ready := w.settle(ctx, o, kstatus.FailedStatus)
		Expect(ready.Reason).To(Equal(reason))
		Expect(ready.Message).To(ContainSubstring("%s/%s", holder.GetNamespace(), holder.GetName()))
		Expect(w.condition(ctx, o, v1alpha1.ConflictCondition)).To(HaveField("Message", ready.Message))
	}

	It("gives a tag to the older object, and to the other when the older one is deleted", func(ctx context.Context) {
		older, younger := w.tag("a", "summer", 1), w.tag("b", "summer", 2)
		w.apply(ctx, older)
		Expect(kube.Create(ctx, younger)).To(Succeed())
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)
		Expect(w.matching(ctx, "tags.marketer_tags.key:summer")).To(BeEquivalentTo(1))

		w.remove(ctx, older)
		w.settle(ctx, younger, kstatus.CurrentStatus)
		Expect(w.condition(ctx, younger, v1alpha1.ConflictCondition)).To(BeNil())
		Expect(w.matching(ctx, "tags.marketer_tags.key:summer AND id:2")).To(BeEquivalentTo(1))
	})

	It("gives a tag to the other when the older object releases it", func(ctx context.Context) {
		older, younger := w.tag("a", "summer", 1), w.tag("b", "summer", 2)
		w.apply(ctx, older)
		Expect(kube.Create(ctx, younger)).To(Succeed())
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)

		w.change(ctx, older, func() { older.Spec.Key = "winter" })
		w.settle(ctx, younger, kstatus.CurrentStatus)
		w.settle(ctx, older, kstatus.CurrentStatus)
	})

	It("gives a tag to the other when the older object releases it for a tag that is taken", func(ctx context.Context) {
		oldest, older, younger := w.tag("a", "winter", 1), w.tag("b", "summer", 2), w.tag("c", "summer", 3)
		w.apply(ctx, oldest)
		w.apply(ctx, older)
		Expect(kube.Create(ctx, younger)).To(Succeed())
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)
		w.change(ctx, older, func() { older.Spec.Key = "winter" })
		refused(ctx, older, oldest, v1alpha1.ReasonClaimHeld)
		w.settle(ctx, younger, kstatus.CurrentStatus)
	})

	It("reports to the holder that an older object has displaced it", func(ctx context.Context) {
		older, younger := w.tag("a", "spring", 1), w.tag("b", "summer", 2)
		w.apply(ctx, older)
		w.apply(ctx, younger)
		w.change(ctx, older, func() { older.Spec.Key = "summer" })
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)
		w.settle(ctx, older, kstatus.CurrentStatus)
		Expect(w.matching(ctx, "tags.marketer_tags.key:summer AND id:2")).To(BeZero())
	})

	It("keeps the verdict after a restart", func(ctx context.Context) {
		older, younger := w.tag("a", "summer", 1), w.tag("b", "summer", 2)
		w.apply(ctx, older)
		Expect(kube.Create(ctx, younger)).To(Succeed())
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)
		w.stop()
		w.start()
		w.remove(ctx, older)
		w.settle(ctx, younger, kstatus.CurrentStatus)
	})

	It("makes the older of two default units the default", func(ctx context.Context) {
		older, younger := w.unit("a"), w.unit("b")
		older.Spec.Default, younger.Spec.Default = true, true
		w.apply(ctx, older)
		Expect(kube.Create(ctx, younger)).To(Succeed())
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)
		w.remove(ctx, older)
		w.settle(ctx, younger, kstatus.CurrentStatus)
	})

	Context("of tokens to the same value", func() {
		const value, other = "0123456789abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlkjihgfedcba9876543210"

		// sealed creates an AccessToken and the labeled Secret that it reads, both in the namespace of the given world.
		sealed := func(ctx context.Context, in *world, name, value string) (*v1alpha1.AccessToken, *corev1.Secret) {
			GinkgoHelper()
			s := in.secret(name, value)
			s.Labels = map[string]string{tokens.Label: name}
			Expect(kube.Create(ctx, s)).To(Succeed())
			t := in.token(name)
			t.Spec.ExistingSecret = &v1alpha1.SecretKeyReference{Name: name, Key: "token"}
			Expect(kube.Create(ctx, t)).To(Succeed())
			return t, s
		}
		holds := func(name, value string) bool {
			digest := library.Digest(sha256.Sum256([]byte(value)))
			return slices.ContainsFunc(w.accepted()[name].Values, func(v library.TokenValue) bool { return v.Digest == digest })
		}

		It("leave the value to the first token, and give it to the other when the first is deleted", func(ctx context.Context) {
			first, _ := sealed(ctx, w, "first", value)
			w.settle(ctx, first, kstatus.CurrentStatus)
			second, _ := sealed(ctx, w, "second", value)
			refused(ctx, second, first, v1alpha1.ReasonClaimHeld)
			w.settle(ctx, first, kstatus.CurrentStatus)
			Expect(holds("first", value)).To(BeTrue())
			Expect(holds("second", value)).To(BeFalse())

			w.remove(ctx, first)
			w.settle(ctx, second, kstatus.CurrentStatus)
			Expect(holds("second", value)).To(BeTrue())
		})

		It("do so across namespaces and restarts, and reveal no names of the other namespace", func(ctx context.Context) {
			b := newWorld(ctx)
			both := func(o *cluster.Options) { o.Namespaces = []string{w.namespace, b.namespace} }
			w.start(both)
			w.apply(ctx, b.property("default"))
			// The manifest of thief is the older one, although thief gets the value later than holder.
			thief, stolen := sealed(ctx, b, "thief", other)
			w.settle(ctx, thief, kstatus.CurrentStatus)
			w.clock.advance(time.Second)
			holder, _ := sealed(ctx, w, "holder", value)
			w.settle(ctx, holder, kstatus.CurrentStatus)
			w.clock.advance(time.Second)

			stolen.Data["token"] = []byte(value)
			Expect(kube.Update(ctx, stolen)).To(Succeed())
			refusedFar := func() {
				GinkgoHelper()
				ready := w.settle(ctx, thief, kstatus.FailedStatus)
				Expect(ready.Reason).To(Equal(v1alpha1.ReasonClaimHeld))
				Expect(thief.Status.Conditions).NotTo(ContainElement(HaveField("Message", Or(
					ContainSubstring(w.namespace), ContainSubstring(holder.Name),
				))))
				w.settle(ctx, holder, kstatus.CurrentStatus)
				Expect(holds("holder", value)).To(BeTrue())
				Expect(holds("thief", value)).To(BeFalse())
				Expect(holds("thief", other)).To(BeTrue(), "the last valid value stays")
			}
			refusedFar()
			before := rounds(v1alpha1.AccessTokenKind)
			w.start(both)
			Eventually(func() float64 { return rounds(v1alpha1.AccessTokenKind) }).Should(BeNumerically(">=", before+2), "both are reconciled again")
			refusedFar()

			w.remove(ctx, holder)
			w.settle(ctx, thief, kstatus.CurrentStatus)
			Expect(holds("thief", value)).To(BeTrue())
		})

		It("leave a replaced value to the token that had it, even after a restart", func(ctx context.Context) {
			b := newWorld(ctx)
			both := func(o *cluster.Options) { o.Namespaces = []string{w.namespace, b.namespace} }
			w.start(both)
			w.apply(ctx, b.property("default"))
			holder := w.token("holder")
			holder.Spec.Rotation = &v1alpha1.Rotation{Every: hours(1), Overlap: metav1.Duration{Duration: time.Minute}}
			w.apply(ctx, holder)
			rotated := string(w.own(ctx, "holder").Data["token"])
			w.clock.advance(time.Second) // if both tokens were created within the same second, their names would decide which one holds the value
			thief, stolen := sealed(ctx, b, "thief", rotated)
			Expect(w.settle(ctx, thief, kstatus.FailedStatus).Reason).To(Equal(v1alpha1.ReasonClaimHeld))

			replaced := func(value string) string {
				GinkgoHelper()
				var next string
				Eventually(func() (string, error) {
					s := &corev1.Secret{}
					err := kube.Get(ctx, client.ObjectKeyFromObject(holder), s)
					next = string(s.Data["token"])
					return next, client.IgnoreNotFound(err)
				}).ShouldNot(Or(BeEmpty(), Equal(value)))
				return next
			}
			// keepsOut expects that the other token cannot have the value, although the value is no longer valid for any token.
			keepsOut := func(value string) {
				GinkgoHelper()
				Eventually(func() bool { return w.accepts(value) }).Should(BeFalse())
				before := rounds(v1alpha1.AccessTokenKind)
				stolen.Data["token"] = []byte(value + "\n")
				Expect(kube.Update(ctx, stolen)).To(Succeed())
				stolen.Data["token"] = []byte(value)
				Expect(kube.Update(ctx, stolen)).To(Succeed())
				Eventually(func() float64 { return rounds(v1alpha1.AccessTokenKind) }).Should(BeNumerically(">", before))
				Expect(w.settle(ctx, thief, kstatus.FailedStatus).Reason).To(Equal(v1alpha1.ReasonClaimHeld))
				Expect(w.accepts(value)).To(BeFalse())
			}
			w.clock.advance(time.Hour)
			w.nudge(ctx, "holder")
			leaked := replaced(rotated)
			w.clock.advance(time.Minute)
			w.nudge(ctx, "holder")
			Eventually(func() any { return w.accepted()["holder"].Values }).Should(HaveLen(1))
			keepsOut(rotated)

			Expect(kube.Delete(ctx, w.own(ctx, "holder"))).To(Succeed())
			replaced(leaked)
			keepsOut(leaked)
			w.start(both)
			keepsOut(rotated)

			w.remove(ctx, holder)
			w.settle(ctx, thief, kstatus.CurrentStatus)
			Expect(holds("thief", rotated)).To(BeTrue())
		})

		It("do not depend on the order in which a new store reads them", func(ctx context.Context) {
			w.stop()
			for _, name := range []string{"c", "a", "b"} {
				sealed(ctx, w, name, value)
			}
			w.start()
			tokens := []*v1alpha1.AccessToken{w.token("a"), w.token("b"), w.token("c")}
			for _, t := range tokens {
				Expect(kube.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
			}
			slices.SortStableFunc(tokens, func(a, b *v1alpha1.AccessToken) int {
				return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
			})
			w.settle(ctx, tokens[0], kstatus.CurrentStatus)
			for _, t := range tokens[1:] {
				refused(ctx, t, tokens[0], v1alpha1.ReasonClaimHeld)
			}
		})
	})

	It("lets one object adopt a filter, keeps its ids, and hands it back", func(ctx context.Context) {
		uuid, id := "6f1c1c1c-0000-4000-8000-000000000001", int64(5823445520123)
		results, err := w.lib.Apply(ctx, []library.Definition{{Property: w.id("default"), Filter: &library.Filter{
			UUID: uuid, ID: id, Name: "made over HTTP", Query: "approval_status:rej", Order: "created_on:desc",
		}}})
		Expect(err).NotTo(HaveOccurred())
		Expect(results[0].Err).NotTo(HaveOccurred())

		first, second := w.filter("a", "approval_status:app"), w.filter("b", "approval_status:app")
		first.Spec.Adopt, second.Spec.Adopt = &v1alpha1.AdoptedFilter{FilterID: id}, &v1alpha1.AdoptedFilter{FilterID: id}
		w.apply(ctx, first)
		Expect(first.Status).To(And(HaveField("UUID", uuid), HaveField("ID", id), HaveField("URL", externalURL+"/v2/content/filters/"+uuid)))
		Expect(kube.Create(ctx, second)).To(Succeed())
		refused(ctx, second, first, v1alpha1.ReasonClaimHeld)

		w.remove(ctx, first)
		w.settle(ctx, second, kstatus.CurrentStatus)
		w.remove(ctx, second)
		Eventually(func() (string, error) {
			f, err := w.lib.Filter(w.id("default"), library.FilterRef{ID: id})
			return f.Name, err
		}).Should(Equal("made over HTTP"))
	})

	It("stalls an object that adopts a filter that does not exist", func(ctx context.Context) {
		f := w.filter("a", "approval_status:app")
		f.Spec.Adopt = &v1alpha1.AdoptedFilter{FilterID: 1}
		Expect(kube.Create(ctx, f)).To(Succeed())
		Expect(w.settle(ctx, f, kstatus.FailedStatus).Reason).To(Equal(v1alpha1.ReasonAdoptedFilterNotFound))
	})
})
