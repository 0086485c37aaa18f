package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
)

// gathered returns the metrics of a registry as "name label label", with the labels sorted by name.
func gathered(registry *prometheus.Registry) map[string]float64 {
	GinkgoHelper()
	families, err := registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := []string{f.GetName()}
			for _, l := range m.GetLabel() {
				name = append(name, l.GetValue())
			}
			all[strings.Join(name, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

var _ = Describe("Metrics", func() {
	It("report the states of objects, the reasons of stalled ones, and the times of suspension", func(ctx context.Context) {
		w := newWorld(ctx)
		registry := prometheus.NewRegistry()
		w.start(func(o *cluster.Options) { o.Metrics = registry })
		w.apply(ctx, w.property("default"))
		w.apply(ctx, w.filter("good", "love"))
		Expect(kube.Create(ctx, w.filter("broken", "a AND"))).To(Succeed())
		lost := w.filter("lost", "love")
		lost.Spec.PropertyRef = &v1alpha1.PropertyReference{Name: "nowhere"}
		Expect(kube.Create(ctx, lost)).To(Succeed())
		frozen := w.filter("frozen", "love")
		frozen.Spec.Suspend = true
		Expect(kube.Create(ctx, frozen)).To(Succeed())

		count := func(name string) func() float64 {
			return func() float64 { return gathered(registry)[name] }
		}
		Eventually(count("vitrine_objects ContentFilter ready")).Should(BeEquivalentTo(1))
		Eventually(count("vitrine_objects ContentFilter stalled")).Should(BeEquivalentTo(1))
		Eventually(count("vitrine_objects ContentFilter waiting")).Should(BeEquivalentTo(1))
		Eventually(count("vitrine_objects ContentFilter suspended")).Should(BeEquivalentTo(1))
		Eventually(count("vitrine_objects Property ready")).Should(BeEquivalentTo(1))
		Eventually(count("vitrine_rejected_objects ContentFilter InvalidQuery")).Should(BeEquivalentTo(1))
		for _, outcome := range []string{"served", "stalled", "waiting", "suspended"} {
			Eventually(count("vitrine_reconcile_total ContentFilter "+outcome)).Should(BeNumerically(">", 0), outcome)
		}
		Eventually(count("vitrine_status_writes_total ContentFilter")).Should(BeNumerically(">=", 4))
		Expect(count("vitrine_cluster_synced")()).To(BeEquivalentTo(1))
		Expect(count("vitrine_cluster_reachable")()).To(BeEquivalentTo(1))
		Expect(count("vitrine_sweep_held_definitions")()).To(BeZero())

		w.clock.advance(time.Hour)
		Eventually(count(fmt.Sprintf("vitrine_suspended_seconds ContentFilter frozen %s", w.namespace))).Should(BeNumerically("~", 3600, 60))

		w.remove(ctx, w.filter("broken", ""))
		Eventually(count("vitrine_objects ContentFilter stalled")).Should(BeZero())
		Eventually(func() map[string]float64 { return gathered(registry) }).ShouldNot(HaveKey("vitrine_rejected_objects ContentFilter InvalidQuery"))
		Eventually(count("vitrine_reconcile_total ContentFilter removed")).Should(BeNumerically(">=", 1))
	})
})
