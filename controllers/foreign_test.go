package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

var _ = Describe("A condition of another controller", func() {
	It("stays through all changes of the object", func(ctx context.Context) {
		w := newServedWorld(ctx)
		f := w.filter("f", "approval_status:app")
		w.apply(ctx, f)
		Eventually(func() error {
			audited := w.filter("f", "")
			if _, err := w.read(ctx, audited); err != nil {
				return err
			}
			meta.SetStatusCondition(&audited.Status.Conditions, metav1.Condition{
				Type: "Audited", Status: metav1.ConditionTrue, Reason: "Weekly", Message: "Audited.", ObservedGeneration: 1,
			})
			return kube.Status().Update(ctx, audited)
		}).Should(Succeed())

		w.change(ctx, f, func() { f.Spec.Query = "approval_status:(app" })
		w.settle(ctx, f, kstatus.FailedStatus)
		Expect(w.condition(ctx, f, "Audited")).NotTo(BeNil())
		w.change(ctx, f, func() { f.Spec.Query = "approval_status:rej" })
		w.settle(ctx, f, kstatus.CurrentStatus)
		Expect(w.condition(ctx, f, v1alpha1.StalledCondition)).To(BeNil())
		Expect(w.condition(ctx, f, "Audited")).To(HaveField("Reason", "Weekly"))
	})
})
