package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

var _ = Describe("Counts in status", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newServedWorld(ctx) })

	// shown returns a function that reads a count of o from the API server.
	shown := func(ctx context.Context, o client.Object, count func() *int64) func() (int64, error) {
		return func() (int64, error) {
			if err := kube.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil || count() == nil {
				return -1, err
			}
			return *count(), nil
		}
	}

	It("follow the items, and cause no reconcile", func(ctx context.Context) {
		p, f, g, u := w.property("default"), w.filter("f", "approval_status:app"), w.tag("g", "summer", 1, 100, 101), w.unit("u")
		u.Spec.Selector = &v1alpha1.Selector{Query: "tags.marketer_tags.key:summer"}
		w.apply(ctx, f)
		w.apply(ctx, g)
		w.apply(ctx, u)
		Eventually(shown(ctx, f, func() *int64 { return f.Status.MatchedItems })).Should(BeEquivalentTo(3))
		Eventually(shown(ctx, g, func() *int64 { return g.Status.Applied })).Should(BeEquivalentTo(1))
		Eventually(shown(ctx, u, func() *int64 { return u.Status.Attached })).Should(BeEquivalentTo(1))
		Eventually(shown(ctx, p, func() *int64 { return p.Status.Items })).Should(BeEquivalentTo(3))
		Expect(g.Status.Missing).To(Equal(&v1alpha1.MissingItems{Count: 2, First: []int64{100, 101}}))

		before := map[string]float64{}
		for _, s := range subjects {
			before[s.kind] = rounds(s.kind)
		}
		w.post(ctx, 100, 101)
		Eventually(shown(ctx, f, func() *int64 { return f.Status.MatchedItems })).Should(BeEquivalentTo(5))
		Eventually(shown(ctx, g, func() *int64 { return g.Status.Applied })).Should(BeEquivalentTo(3))
		Eventually(shown(ctx, u, func() *int64 { return u.Status.Attached })).Should(BeEquivalentTo(3))
		Eventually(shown(ctx, p, func() *int64 { return p.Status.Items })).Should(BeEquivalentTo(5))
		Expect(g.Status.Missing).To(BeNil())
		for _, s := range subjects {
			Expect(rounds(s.kind)).To(Equal(before[s.kind]), "rounds of %s", s.kind)
		}
		w.lint(ctx, f)
	})

	It("are written at most twice a second over all objects", func(ctx context.Context) {
		var filters []*v1alpha1.ContentFilter
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			filters = append(filters, w.filter(name, "approval_status:app"))
			w.apply(ctx, filters[len(filters)-1])
		}
		begin := time.Now()
		w.post(ctx, 100, 101)
		for _, f := range filters {
			Eventually(shown(ctx, f, func() *int64 { return f.Status.MatchedItems })).Should(BeEquivalentTo(5))
		}
		// The keeper writes seven counts, those of six filters and of the Property. It writes the first at once, and then one every half second.
		Expect(time.Since(begin)).To(BeNumerically(">=", 2400*time.Millisecond))
	})

	It("are not written for a change by less than a tenth", func(ctx context.Context) {
		var ids []int64
		for id := int64(1000); id < 1040; id++ {
			ids = append(ids, id)
		}
		f, g := w.filter("f", "approval_status:app"), w.filter("g", "id:[2000 TO 3000]")
		w.apply(ctx, g)
		w.post(ctx, ids...)
		w.apply(ctx, f)
		Expect(shown(ctx, f, func() *int64 { return f.Status.MatchedItems })()).To(BeEquivalentTo(43))
		w.post(ctx, 2000, 2001)
		Eventually(shown(ctx, g, func() *int64 { return g.Status.MatchedItems })).Should(BeEquivalentTo(2))
		Consistently(shown(ctx, f, func() *int64 { return f.Status.MatchedItems }), "700ms").Should(BeEquivalentTo(43))
	})
})
