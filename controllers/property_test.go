package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/server/library"
)

var _ = Describe("A Property and its objects", func() {
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

	Context("that tools apply last and prune first", func() {
		const n = 20
		var filters []client.Object
		BeforeEach(func(ctx context.Context) {
			w.start(func(o *cluster.Options) { o.PropertyGrace = time.Second })
			filters = nil
			for i := range n {
				filters = append(filters, w.filter(fmt.Sprintf("f%d", i), "approval_status:app"))
			}
		})
		// looked calls the function do, and then waits until every filter has been reconciled again.
		looked := func(do func()) {
			GinkgoHelper()
			before := rounds(v1alpha1.ContentFilterKind)
			do()
			Eventually(func() float64 { return rounds(v1alpha1.ContentFilterKind) }).Should(BeNumerically(">=", before+n))
		}
		statuses := func() (writes []string) {
			for _, line := range w.network.written() {
				if strings.Contains(line, "/contentfilters/") {
					writes = append(writes, line)
				}
			}
			return writes
		}
		// notes waits until all Events so far are written, and returns the reasons of the Warnings about filters.
		notes := func(ctx context.Context) (warnings []string) {
			GinkgoHelper()
			marker := w.filter("marker", "approval_status:(app")
			Expect(kube.Create(ctx, marker)).To(Succeed())
			Eventually(func() ([]string, error) {
				var list eventsv1.EventList
				err := kube.List(ctx, &list, client.InNamespace(w.namespace))
				warnings = nil
				for _, e := range list.Items {
					if e.Type == corev1.EventTypeWarning && e.Regarding.Kind == v1alpha1.ContentFilterKind {
						warnings = append(warnings, e.Reason)
					}
				}
				return warnings, err
			}).Should(ContainElement(v1alpha1.ReasonInvalidQuery))
			return warnings
		}

		It("causes one status write per object and no warning", func(ctx context.Context) {
			looked(func() {
				for _, f := range filters {
					Expect(kube.Create(ctx, f)).To(Succeed())
				}
			})
			Expect(statuses()).To(BeEmpty(), "nothing is reported while the Property is expected")
			p := w.property("default")
			w.apply(ctx, p)
			for _, f := range filters {
				w.settle(ctx, f, kstatus.CurrentStatus)
			}
			Expect(statuses()).To(HaveLen(n))

			looked(func() { Expect(kube.Delete(ctx, p)).To(Succeed()) })
			looked(func() {
				for _, f := range filters {
					Expect(kube.Delete(ctx, f)).To(Succeed())
				}
			})
			Expect(statuses()).To(HaveLen(n))
			Expect(notes(ctx)).To(ConsistOf(v1alpha1.ReasonInvalidQuery))
		})

		It("is reported if it stays missing", func(ctx context.Context) {
			for _, f := range filters {
				Expect(kube.Create(ctx, f)).To(Succeed())
			}
			Eventually(func() (waiting int, err error) {
				w.clock.advance(time.Second)
				var list v1alpha1.ContentFilterList
				err = kube.List(ctx, &list, client.InNamespace(w.namespace))
				for _, f := range list.Items {
					if len(f.Status.Conditions) > 0 {
						waiting++
					}
				}
				return waiting, err
			}).Should(Equal(n))
			for _, f := range filters {
				Expect(w.settle(ctx, f, kstatus.InProgressStatus).Reason).To(Equal(v1alpha1.ReasonPropertyNotFound))
			}
			Expect(notes(ctx)).To(ContainElement(v1alpha1.ReasonPropertyNotFound))
			Expect(statuses()).To(HaveLen(n+1), "one for each, and one for the marker")
		})
	})

	It("stops serving everything when it is deleted, keeps items, and returns with them", func(ctx context.Context) {
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

	It("leaves the right statuses when it is deleted and recreated at once", func(ctx context.Context) {
		w.apply(ctx, w.property("default"))
		f := w.filter("f", "approval_status:app")
		w.apply(ctx, f)
		for range 10 {
			Expect(kube.Delete(ctx, w.property("default"))).To(Succeed())
			Expect(kube.Create(ctx, w.property("default"))).To(Succeed())
		}
		// The status may show an intermediate state for a short time, but the operator must then correct it.
		since := time.Now()
		Eventually(func() time.Duration {
			if w.condition(ctx, f, v1alpha1.ReadyCondition).Status != metav1.ConditionTrue {
				since = time.Now()
			}
			return time.Since(since)
		}).Should(BeNumerically(">", time.Second), "the filter is ready and stays so")
	})

	It("updates the URLs of its objects when externalURL changes, and writes only what changes", func(ctx context.Context) {
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

	It("is separate from a Property with the same name in another namespace", func(ctx context.Context) {
		other := newWorld(ctx)
		w.apply(ctx, w.property("default"))
		Expect(kube.Create(ctx, other.property("default"))).To(Succeed())
		Consistently(w.lib.Properties, "300ms").Should(ConsistOf(w.id("default")), "only watched namespaces are read")
	})
})
