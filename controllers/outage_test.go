package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

var _ = Describe("A slow API server", func() {
	It("does not delay reads or writes, and is followed once it responds", func(ctx context.Context) {
		w := newServedWorld(ctx)
		f := w.filter("f", "approval_status:app")
		w.apply(ctx, f)

		By("holding back every answer while the operator runs")
		release := w.network.hold()
		w.change(ctx, f, func() { f.Spec.Query = "approval_status:rej" })
		Eventually(w.network.waiting).ShouldNot(BeZero(), "the operator has to have asked for something")
		w.post(ctx, 4)
		Expect(w.matching(ctx, "approval_status:app")).To(BeEquivalentTo(4))
		release()
		w.settle(ctx, f, kstatus.CurrentStatus)

		By("holding back every answer while the operator starts")
		w.stop()
		release = w.network.hold()
		w.launch()
		Eventually(w.network.waiting).ShouldNot(BeZero())
		w.post(ctx, 5)
		Expect(w.matching(ctx, "approval_status:app")).To(BeEquivalentTo(5))
		Expect(w.supervisor.Status()).To(And(HaveField("Synced", false), HaveField("Remembered", true), HaveField("Message", HavePrefix("serving the last known state: "))))
		g := w.tag("g", "summer", 1)
		Expect(kube.Create(ctx, g)).To(Succeed())
		release()
		Expect(w.settle(ctx, g, kstatus.CurrentStatus).Reason).To(Equal(v1alpha1.ReasonServed))
	})
})

var _ = Describe("A frozen library", func() {
	It("delays changes to manifests, and applies them after the library is thawed", func(ctx context.Context) {
		w := newServedWorld(ctx)
		f, token := w.filter("f", "approval_status:app"), w.token("front")
		w.apply(ctx, f)
		w.apply(ctx, token)
		_, err := w.lib.Freeze(ctx)
		Expect(err).NotTo(HaveOccurred())

		w.change(ctx, f, func() { f.Spec.Query = "approval_status:rej" })
		Expect(kube.Delete(ctx, token)).To(Succeed())
		Eventually(func() *metav1.Condition { return w.condition(ctx, f, v1alpha1.ReconcilingCondition) }).Should(
			HaveValue(HaveField("Message", ContainSubstring("vitrine migrate"))))
		Expect(w.lib.Property(w.id("default"))).NotTo(BeZero())
		Expect(w.accepted()).To(HaveKey("front"))

		Expect(w.lib.Thaw(ctx)).To(Succeed())
		w.settle(ctx, f, kstatus.CurrentStatus)
		Eventually(w.accepted).ShouldNot(HaveKey("front"))
	})
})
