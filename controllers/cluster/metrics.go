package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers"
	"github.com/vitrine-dev/vitrine/server/webhooks"
)

// metrics holds the metrics of a Supervisor.
type metrics struct {
	passes   *controllers.Metrics
	webhooks *webhooks.Metrics
	held     prometheus.Gauge
}

func newMetrics() *metrics {
	return &metrics{passes: controllers.NewMetrics(), webhooks: webhooks.NewMetrics(), held: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "vitrine_sweep_held_definitions", Help: "Definitions whose removal waits for vitrine sweep --confirm; 0 if no sweep is held.",
	})}
}

// longestSuspended is the maximum number of suspended objects with their own series. If there are more, the objects that have been
// suspended longest get a series.
const longestSuspended = 100

// objectCollector collects the states of the cached objects at every scrape. It reports no objects while the Supervisor follows no cluster.
type objectCollector struct {
	supervisor                                       *Supervisor
	objects, rejected, suspended, synced, up, leader *prometheus.Desc
}

func newObjectCollector(s *Supervisor) *objectCollector {
	return &objectCollector{
		supervisor: s,
		objects: prometheus.NewDesc("vitrine_objects",
			"Objects in the cluster, by kind and state: ready, waiting, stalled, suspended, or unknown before the first reconcile.", []string{"kind", "state"}, nil),
		rejected: prometheus.NewDesc("vitrine_rejected_objects",
			"Stalled objects, by kind and reason of the Ready condition. Their newest spec is not served until a user changes something.", []string{"kind", "reason"}, nil),
		suspended: prometheus.NewDesc("vitrine_suspended_seconds",
			"Time since an object was suspended, for the 100 objects suspended longest.", []string{"kind", "namespace", "name"}, nil),
		synced: prometheus.NewDesc("vitrine_cluster_synced", "1 if this process has loaded the manifests and all its watches receive events.", nil, nil),
		up:     prometheus.NewDesc("vitrine_cluster_reachable", "1 if the API server responded to the last request.", nil, nil),
		leader: prometheus.NewDesc("vitrine_leader", "1 if this replica holds the Lease, has loaded the manifests and runs the controllers. Absent unless replicas share a library on OpenSearch.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *objectCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.objects, c.rejected, c.suspended, c.synced, c.up, c.leader} {
		ch <- d
	}
}

// suspension is a suspended object.
type suspension struct {
	kind, namespace, name string
	since                 time.Time
}

// Collect implements prometheus.Collector.
func (c *objectCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := c.supervisor
	s.mu.Lock()
	f, synced, reachable, standby := s.current, s.status.Synced && s.unreachable == nil && s.interrupted == nil, s.status.LastError == nil && s.unreachable == nil, s.standby
	s.mu.Unlock()
	gauge(c.synced, truth(synced))
	gauge(c.up, truth(reachable && (f != nil || standby)))
	if s.options.Lease != nil {
		gauge(c.leader, truth(f != nil))
	}
	if f == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var suspensions []suspension
	for _, k := range v1alpha1.Kinds() {
		states := map[v1alpha1.Phase]int{}
		reasons := map[string]int{}
		list := k.NewList()
		// Do not copy the objects: a scrape may read ten thousand, and copying them would be its most expensive part. The scrape neither keeps
		// nor modifies them.
		if err := f.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			ch <- prometheus.NewInvalidMetric(c.objects, fmt.Errorf("list the cached %s objects: %w", k.Name, err))
			return
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error { // the callback never returns an error
			o := item.(v1alpha1.Object)
			state := v1alpha1.StateOf(o)
			states[state.Phase]++
			switch state.Phase {
			case v1alpha1.PhaseStalled:
				reasons[state.Tells.Reason]++
			case v1alpha1.PhaseSuspended:
				suspensions = append(suspensions, suspension{k.Name, o.GetNamespace(), o.GetName(), suspendedSince(o)})
			case v1alpha1.PhaseReady, v1alpha1.PhaseWaiting, v1alpha1.PhaseUnknown:
			}
			return nil
		})
		for _, phase := range v1alpha1.Phases() {
			gauge(c.objects, float64(states[phase]), k.Name, string(phase))
		}
		for reason, n := range reasons {
			gauge(c.rejected, float64(n), k.Name, reason)
		}
	}
	slices.SortFunc(suspensions, func(a, b suspension) int { return a.since.Compare(b.since) })
	now := f.Clock()
	for _, o := range suspensions[:min(len(suspensions), longestSuspended)] {
		gauge(c.suspended, max(now.Sub(o.since).Seconds(), 0), o.kind, o.namespace, o.name)
	}
}

// suspendedSince returns the time at which the operator first saw that an object is suspended. If the operator has not seen this yet,
// suspendedSince returns the creation time of the object.
func suspendedSince(o v1alpha1.Object) time.Time {
	if c := meta.FindStatusCondition(*o.StatusConditions(), v1alpha1.SuspendedCondition); c != nil {
		return c.LastTransitionTime.Time
	}
	return o.GetCreationTimestamp().Time
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// register registers all collectors with r.
func (s *Supervisor) register(r prometheus.Registerer) error {
	for _, c := range slices.Concat(s.metrics.passes.Collectors(), s.metrics.webhooks.Collectors(), []prometheus.Collector{s.metrics.held, newObjectCollector(s)}) {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("register the metrics of the controllers: %w", err)
		}
	}
	return nil
}
