package controllers_test

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/server/library"
)

// shared is a library that the replicas of a spec share.
type shared struct {
	library.Library
	term atomic.Int64
	// onLead, if set, is called when a replica begins to lead.
	onLead atomic.Pointer[func()]
}

// led is the library that the leader of a term uses.
type led struct {
	*shared
	term int64
}

func (s *shared) Lead(context.Context, string) (library.Library, error) {
	if f := s.onLead.Load(); f != nil {
		(*f)()
	}
	return &led{s, s.term.Add(1)}, nil
}

func (l *led) permit() error {
	if l.term != l.shared.term.Load() {
		return library.ErrDeposed
	}
	return nil
}

func (l *led) Apply(ctx context.Context, defs []library.Definition) ([]library.Result, error) {
	if err := l.permit(); err != nil {
		return nil, err
	}
	return l.shared.Apply(ctx, defs)
}

func (l *led) SetMark(ctx context.Context, key, value string) error {
	if err := l.permit(); err != nil {
		return err
	}
	return l.shared.SetMark(ctx, key, value)
}

var _ = Describe("Replicas", func() {
	var first, second *world
	var lib *shared
	var metrics map[*world]*prometheus.Registry
	// replica returns a function that changes the options of a supervisor to the options of a replica.
	replica := func(w *world, identity string) func(*cluster.Options) {
		return func(o *cluster.Options) {
			o.Library = lib
			metrics[w] = prometheus.NewRegistry()
			o.Metrics = metrics[w]
			o.Lease = &cluster.Lease{Namespace: first.namespace, Name: "vitrine", Identity: identity + "_1", Duration: 3 * time.Second}
			o.MaxBackoff = 200 * time.Millisecond
			o.WatchInterval = 100 * time.Millisecond
		}
	}
	BeforeEach(func(ctx context.Context) {
		first = newWorld(ctx)
		lib = &shared{Library: first.lib}
		second = &world{namespace: first.namespace, lib: first.lib, clock: first.clock, logs: &logs{}, network: newNetwork(), stop: func() {}}
		metrics = map[*world]*prometheus.Registry{}
		DeferCleanup(func() { second.stop() })
		first.start(replica(first, "pod-a"))
		first.apply(ctx, first.property("default"))
		second.launch(replica(second, "pod-b"))
	})
	standsBy := func(w *world, leader string) {
		GinkgoHelper()
		Eventually(func() cluster.Status { return w.supervisor.Status() }).Should(And(
			HaveField("Standby", true), HaveField("Synced", false), HaveField("LastError", BeNil()),
			HaveField("Message", "this replica serves content; replica "+leader+" runs the controllers"),
		))
		Expect(w.supervisor.Loaded()).To(BeTrue())
	}
	It("reconcile in one of them, and in the next one when it stops", func(ctx context.Context) {
		standsBy(second, "pod-a")
		Expect(second.supervisor.ConfirmSweep(ctx)).Error().To(MatchError(&cluster.NotLeaderError{Leader: "pod-a_1"}))
		install, err := lib.Mark("install")
		Expect(err).NotTo(HaveOccurred())
		m, err := second.supervisor.Manifest(ctx, first.id("default"), library.Owner{
			Install: install, Kind: library.KindProperty, Namespace: first.namespace, Name: "default",
		})
		Expect(err).NotTo(HaveOccurred(), "a standby reads manifests, too")
		Expect(string(m.Object)).To(ContainSubstring(`"spec":{"displayName":"Shop"}`))
		Expect(second.network.written()).To(BeEmpty(), "a standby writes nothing")

		first.stop()
		Eventually(func() bool { return second.supervisor.Status().Synced }).Should(BeTrue())
		second.apply(ctx, second.filter("f", "approval_status:app"))
	})

	It("stop reconciling before another one begins when the API server does not respond", func(ctx context.Context) {
		standsBy(second, "pod-a")
		atTakeover := make(chan cluster.Status, 1)
		onLead := func() {
			select {
			case atTakeover <- first.supervisor.Status():
			default:
			}
		}
		lib.onLead.Store(&onLead)
		release := first.network.hold()
		DeferCleanup(func() { release() })
		Eventually(atTakeover).Should(Receive(And(HaveField("Synced", false), HaveField("LastError", Not(BeNil())))))
		Eventually(func() bool { return second.supervisor.Status().Synced }).Should(BeTrue())

		release()
		release = func() {}
		standsBy(first, "pod-b")
		Consistently(func() bool { return second.supervisor.Status().Synced }, "2s").Should(BeTrue(), "the first replica does not release the lease of the second")
	})

	It("follow again after an outage in which the lease expired", func(ctx context.Context) {
		standsBy(second, "pod-a")
		first.apply(ctx, first.token("doomed"))
		first.network.cut()
		second.network.cut()
		Eventually(func() cluster.Status { return first.supervisor.Status() }).Should(And(HaveField("Synced", false), HaveField("LastError", Not(BeNil()))))
		Expect(kube.Delete(ctx, first.token("doomed"))).To(Succeed())
		first.network.restore()
		second.network.restore()
		Eventually(first.accepted).ShouldNot(HaveKey("doomed"))
		Eventually(func() []string {
			return []string{first.supervisor.Status().Message, second.supervisor.Status().Message}
		}).Should(ContainElement(following))
	})

	It("hand a store over to another cluster once", func(ctx context.Context) {
		standsBy(second, "pod-a")
		first.stop()
		second.stop()
		Expect(first.lib.SetMark(ctx, "install", "the-other-cluster")).To(Succeed())
		first.launch(replica(first, "pod-a"))
		second.launch(replica(second, "pod-b"), func(o *cluster.Options) { o.WatchInterval = time.Hour })
		for _, w := range []*world{first, second} {
			Eventually(func() error { return w.supervisor.Status().LastError }).Should(MatchError(ContainSubstring("the-other-cluster")))
		}
		Expect(first.supervisor.ConfirmSweep(ctx)).Error().NotTo(HaveOccurred())
		Eventually(func() bool { return first.supervisor.Status().Synced }).Should(BeTrue())
		Expect(second.supervisor.ConfirmSweep(ctx)).Error().To(Or(MatchError(cluster.ErrNothingHeld), MatchError(&cluster.NotLeaderError{Leader: "pod-a_1"})))
		Expect(first.lib.Property(first.id("default"))).NotTo(BeNil())
	})

	It("report a lease that they cannot read", func(ctx context.Context) {
		standsBy(second, "pod-a")
		second.network.cut()
		Eventually(func() cluster.Status { return second.supervisor.Status() }).Should(And(
			HaveField("LastError", MatchError(ContainSubstring("read Lease "+first.namespace+"/vitrine"))),
			HaveField("Message", HavePrefix("serving the last known state: ")),
		))
		second.network.restore()
		standsBy(second, "pod-a")
	})

	It("begin a new term when another one led the library meanwhile", func(ctx context.Context) {
		_, err := lib.Lead(ctx, "elsewhere")
		Expect(err).NotTo(HaveOccurred())
		f := first.filter("f", "approval_status:app")
		Expect(kube.Create(ctx, f)).To(Succeed())
		first.settle(ctx, f, kstatus.CurrentStatus)
		Expect(lib.term.Load()).To(BeNumerically(">", 2))
	})

	It("say in a metric which one leads", func() {
		standsBy(second, "pod-a")
		Expect(gathered(metrics[first])).To(And(HaveKeyWithValue("vitrine_leader", 1.0), HaveKeyWithValue("vitrine_cluster_reachable", 1.0)))
		Expect(gathered(metrics[second])).To(And(HaveKeyWithValue("vitrine_leader", 0.0), HaveKeyWithValue("vitrine_cluster_reachable", 1.0)))
	})
})
