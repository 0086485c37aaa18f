package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

var _ = Describe("A Property and what belongs to it", func() {
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.start()
	})

	belonging := func() []client.Object {
		return []client.Object{w.token("t"), w.filter("f", "approval_status:app"), w.tag("g", "summer", 1), w.unit("u")}
	}

	It("may be applied in any order", func(ctx context.Context) {
		objects := belonging()
		for _, o := range objects {
			Expect(kube.Create(ctx, o)).To(Succeed())
			ready := w.settle(ctx, o, kstatus.InProgressStatus)
			Expect(ready.Reason).To(Equal(v1alpha1.ReasonPropertyNotFound))
		}
		w.apply(ctx, w.property("default"))
		for _, o := range objects {
			w.settle(ctx, o, kstatus.CurrentStatus)
		}
		Expect(w.accepted()).To(HaveKey("t"))
	})

	It("takes everything out of service when it goes, keeps items, and returns with them", func(ctx context.Context) {
		p := w.property("default")
		w.apply(ctx, p)
		w.post(ctx, 1, 2)
		objects := belonging()
		for _, o := range objects {
			w.apply(ctx, o)
		}
		w.remove(ctx, p)
		Eventually(w.accepted).Should(BeEmpty(), "tokens of a deleted property are revoked")
		for _, o := range objects {
			Expect(w.settle(ctx, o, kstatus.InProgressStatus).Reason).To(Equal(v1alpha1.ReasonPropertyNotFound))
		}
		_, err := w.lib.Property(w.id("default"))
		Expect(err).To(MatchError(library.ErrNotFound))

		w.apply(ctx, w.property("default"))
		for _, o := range objects {
			w.settle(ctx, o, kstatus.CurrentStatus)
		}
		Expect(w.matching(ctx, "tags.marketer_tags.key:summer")).To(BeEquivalentTo(1))
		Expect(w.accepted()).To(HaveKey("t"))
	})

	It("ends with the right statuses when it goes and comes back at once", func(ctx context.Context) {
		w.apply(ctx, w.property("default"))
		f := w.filter("f", "approval_status:app")
		w.apply(ctx, f)
		for range 10 {
			Expect(kube.Delete(ctx, w.property("default"))).To(Succeed())
			Expect(kube.Create(ctx, w.property("default"))).To(Succeed())
		}
		// What was true in between may be said late, and then has to be mended.
		since := time.Now()
		Eventually(func() time.Duration {
			if w.condition(ctx, f, v1alpha1.ReadyCondition).Status != metav1.ConditionTrue {
				since = time.Now()
			}
			return time.Since(since)
		}).Should(BeNumerically(">", time.Second), "the filter is ready and stays so")
	})

	It("brings its externalURL into what belongs to it, without a write where nothing changes", func(ctx context.Context) {
		p := w.property("default")
		w.apply(ctx, p)
		f, g := w.filter("f", "approval_status:app"), w.tag("g", "summer", 1)
		w.apply(ctx, f)
		w.apply(ctx, g)
		Expect(f.Status.URL).To(HavePrefix(externalURL + "/v2/"))
		unmoved := g.GetResourceVersion()

		w.change(ctx, p, func() { p.Spec.ExternalURL = "https://shop.example/content/" })
		Eventually(func() (string, error) {
			err := kube.Get(ctx, client.ObjectKeyFromObject(f), f)
			return f.Status.URL, err
		}).Should(HavePrefix("https://shop.example/content/v2/"))
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(g), g)).To(Succeed())
		Expect(g.GetResourceVersion()).To(Equal(unmoved))
	})

	It("keeps properties of one name in two namespaces apart", func(ctx context.Context) {
		other := newWorld(ctx)
		w.apply(ctx, w.property("default"))
		Expect(kube.Create(ctx, other.property("default"))).To(Succeed())
		Consistently(w.lib.Properties, "300ms").Should(ConsistOf(w.id("default")), "only watched namespaces are read")
	})
})
