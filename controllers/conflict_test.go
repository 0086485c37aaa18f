package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

var _ = Describe("Two claims on one thing", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newServedWorld(ctx) })

	// refused expects o to be refused for a claim, and told who holds it.
	refused := func(ctx context.Context, o, holder client.Object, reason string) {
		GinkgoHelper()
		ready := w.settle(ctx, o, kstatus.FailedStatus)
		Expect(ready.Reason).To(Equal(reason))
		Expect(ready.Message).To(ContainSubstring("%s/%s", holder.GetNamespace(), holder.GetName()))
		Expect(w.condition(ctx, o, v1alpha1.ConflictCondition)).To(HaveField("Message", ready.Message))
	}

	It("gives a tag to the older object, and to the other when the older one goes", func(ctx context.Context) {
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

	It("gives a tag to the other when the older object lets go of it", func(ctx context.Context) {
		older, younger := w.tag("a", "summer", 1), w.tag("b", "summer", 2)
		w.apply(ctx, older)
		Expect(kube.Create(ctx, younger)).To(Succeed())
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)

		w.change(ctx, older, func() { older.Spec.Key = "winter" })
		w.settle(ctx, younger, kstatus.CurrentStatus)
		w.settle(ctx, older, kstatus.CurrentStatus)
	})

	It("gives a tag to the other when the older object lets go of it for one that it cannot have", func(ctx context.Context) {
		oldest, older, younger := w.tag("a", "winter", 1), w.tag("b", "summer", 2), w.tag("c", "summer", 3)
		w.apply(ctx, oldest)
		w.apply(ctx, older)
		Expect(kube.Create(ctx, younger)).To(Succeed())
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)
		w.change(ctx, older, func() { older.Spec.Key = "winter" })
		refused(ctx, older, oldest, v1alpha1.ReasonClaimHeld)
		w.settle(ctx, younger, kstatus.CurrentStatus)
	})

	It("tells the holder that an older object has displaced it", func(ctx context.Context) {
		older, younger := w.tag("a", "spring", 1), w.tag("b", "summer", 2)
		w.apply(ctx, older)
		w.apply(ctx, younger)
		w.change(ctx, older, func() { older.Spec.Key = "summer" })
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)
		w.settle(ctx, older, kstatus.CurrentStatus)
		Expect(w.matching(ctx, "tags.marketer_tags.key:summer AND id:2")).To(BeZero())
	})

	It("keeps the verdict over a restart", func(ctx context.Context) {
		older, younger := w.tag("a", "summer", 1), w.tag("b", "summer", 2)
		w.apply(ctx, older)
		Expect(kube.Create(ctx, younger)).To(Succeed())
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)
		w.stop()
		w.start()
		w.remove(ctx, older)
		w.settle(ctx, younger, kstatus.CurrentStatus)
	})

	It("lets the older of two default units be the default", func(ctx context.Context) {
		older, younger := w.unit("a"), w.unit("b")
		older.Spec.Default, younger.Spec.Default = true, true
		w.apply(ctx, older)
		Expect(kube.Create(ctx, younger)).To(Succeed())
		refused(ctx, younger, older, v1alpha1.ReasonClaimHeld)
		w.remove(ctx, older)
		w.settle(ctx, younger, kstatus.CurrentStatus)
	})

	It("refuses both of two tokens with one value, and takes the one that is left", func(ctx context.Context) {
		value := "0123456789abcdefghijklmnopqrstuvwxyz"
		Expect(kube.Create(ctx, w.secret("sealed", value))).To(Succeed())
		first, second := w.token("a"), w.token("b")
		for _, t := range []*v1alpha1.AccessToken{first, second} {
			t.Spec.ExistingSecret = &v1alpha1.SecretKeyReference{Name: "sealed", Key: "token"}
		}
		w.apply(ctx, first)
		Expect(kube.Create(ctx, second)).To(Succeed())
		refused(ctx, second, first, v1alpha1.ReasonClaimHeld)
		refused(ctx, first, second, v1alpha1.ReasonClaimHeld)
		Expect(w.accepted()).To(BeEmpty())

		w.remove(ctx, second)
		w.settle(ctx, first, kstatus.CurrentStatus)
		Expect(w.accepted()).To(HaveKey("a"))
	})

	It("lets one object adopt a filter, keeps its ids, and gives it back", func(ctx context.Context) {
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

	It("stalls an object that adopts a filter which is not there", func(ctx context.Context) {
		f := w.filter("a", "approval_status:app")
		f.Spec.Adopt = &v1alpha1.AdoptedFilter{FilterID: 1}
		Expect(kube.Create(ctx, f)).To(Succeed())
		Expect(w.settle(ctx, f, kstatus.FailedStatus).Reason).To(Equal(v1alpha1.ReasonAdoptedFilterNotFound))
	})
})
