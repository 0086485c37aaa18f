package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

var _ = Describe("Read access to a filter", func() {
	It("is in the status, and an event reports when READ-ONLY tokens gain access", func(ctx context.Context) {
		w := newServedWorld(ctx)
		closed, open := w.filter("closed", "approval_status:pen"), w.filter("open", "approval_status:app")
		open.Spec.ReadAccess = v1alpha1.ReadAccessReadOnly
		w.apply(ctx, closed)
		w.apply(ctx, open)
		Expect(closed.Status.ReadAccess).To(Equal(v1alpha1.ReadAccessReadWrite), "the status shows the default")
		Expect(open.Status.ReadAccess).To(Equal(v1alpha1.ReadAccessReadOnly))

		widened := func() ([]string, error) { return w.about(ctx, "ReadAccessWidened") }
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"readAccess":"ReadOnly"}}`))
		Expect(kube.Patch(ctx, closed, patch, client.FieldOwner("alice"))).To(Succeed())
		Eventually(widened).Should(ConsistOf("closed"))
		w.settle(ctx, closed, kstatus.CurrentStatus)
		Expect(closed.Status.ReadAccess).To(Equal(v1alpha1.ReadAccessReadOnly))
		Expect(widened()).To(ConsistOf("closed"))
	})
})
