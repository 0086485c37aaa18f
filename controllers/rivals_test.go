package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/server/library"
)

var _ = Describe("Two operators with separate stores", func() {
	It("do not overwrite each other in the statuses of a namespace", func(ctx context.Context) {
		w := newServedWorld(ctx)
		t, f := w.token("storefront"), w.filter("f", "approval_status:app")
		others := []client.Object{f, w.tag("g", "summer", 1, 2), w.unit("u")}
		w.apply(ctx, t)
		for _, o := range others {
			w.apply(ctx, o)
		}
		Eventually(func() (*int64, error) {
			err := kube.Get(ctx, client.ObjectKeyFromObject(f), f)
			return f.Status.MatchedItems, err
		}).Should(HaveValue(BeEquivalentTo(3)))

		By("starting the second one, which has other items and another address")
		second := newWorld(ctx)
		second.namespace = w.namespace
		second.start(func(o *cluster.Options) { o.ExternalURL = "https://second.example" })
		Expect(w.settle(ctx, t, kstatus.FailedStatus).Reason).To(Equal(v1alpha1.ReasonSecretConflict))
		second.post(ctx, 7)
		w.change(ctx, f, func() { f.Spec.Query = "id:(1 2 7)" })
		uuid, _ := library.FilterIDs(w.id("default"), library.KindFilter, w.namespace, "f")
		Eventually(func() (string, error) {
			record, err := second.lib.Filter(w.id("default"), library.FilterRef{UUID: uuid})
			return record.Query, err
		}).Should(Equal("id:(1 2 7)"), "the second operator serves the new spec")
		w.settle(ctx, f, kstatus.CurrentStatus)
		Eventually(func() (*int64, error) {
			err := kube.Get(ctx, client.ObjectKeyFromObject(f), f)
			return f.Status.MatchedItems, err
		}).Should(HaveValue(BeEquivalentTo(2)), "the count of the first operator")
		Eventually(func() ([]string, error) {
			var events eventsv1.EventList
			err := kube.List(ctx, &events, client.InNamespace(w.namespace))
			var notes []string
			for _, e := range events.Items {
				if e.Reason == "SecondOperator" && e.Regarding.Kind == v1alpha1.PropertyKind {
					notes = append(notes, e.Note)
				}
			}
			return notes, err
		}).Should(ContainElement(HavePrefix("Two operators manage this namespace")))
		Consistently(second.network.written, "1s").ShouldNot(ContainElement(Or(
			ContainSubstring("/contentfilters/"), ContainSubstring("/properties/"), ContainSubstring("/tags/"), ContainSubstring("/activateunits/"),
		)), "several times the interval of counts")

		By("stopping the first one, and handing its Secret over")
		w.stop()
		Expect(kube.Patch(ctx, w.own(ctx, "storefront"), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"vitrine.dev/store":null}}}`)))).To(Succeed())
		Eventually(func() (string, error) {
			err := kube.Get(ctx, client.ObjectKeyFromObject(f), f)
			return f.Status.URL, err
		}).Should(HavePrefix("https://second.example/"))
		Eventually(func() (*int64, error) {
			err := kube.Get(ctx, client.ObjectKeyFromObject(f), f)
			return f.Status.MatchedItems, err
		}).Should(HaveValue(BeEquivalentTo(1)), "the count of the second operator")
		w.settle(ctx, t, kstatus.CurrentStatus)
		for _, o := range others {
			w.settle(ctx, o, kstatus.CurrentStatus)
		}
		second.stop()
	})
})
