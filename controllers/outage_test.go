package controllers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// outageVariable is the environment variable with the duration of the outages in the specs, for example 300s. If it is set, the specs also
// fail if the operator takes longer than followingLimit.
const outageVariable = "VITRINE_OUTAGE"

// outageDuration returns the duration of the outages in the specs.
func outageDuration(t interface{ Fatal(...any) }) time.Duration {
	given := os.Getenv(outageVariable)
	if given == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(given)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// followingLimit is the promised time from the deletion of a token until the server rejects it, once the API server answers again.
const followingLimit = time.Second

// following is the message of a supervisor that follows the cluster.
const following = "following the cluster"

// signalAPIServer sends a signal to the API server of a control plane, which envtest does not permit.
func signalAPIServer(own *envtest.Environment, s syscall.Signal) {
	GinkgoHelper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	Expect(err).NotTo(HaveOccurred())
	for _, p := range processes {
		line, err := os.ReadFile(p)
		if err != nil || !bytes.Contains(line, []byte("--cert-dir="+own.ControlPlane.APIServer.CertDir+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		Expect(err).NotTo(HaveOccurred())
		Expect(syscall.Kill(pid, s)).To(Succeed())
		return
	}
	Fail("the API server does not run")
}

// planeAnswers returns nil if the API server answers the reads without which the operator removes nothing. After an outage of etcd, an API
// server reconnects for each of its parts separately.
func planeAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "accesstokens.vitrine.dev"}}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}
	return errors.Join(kube.Get(ctx, client.ObjectKeyFromObject(ns), ns), kube.Get(ctx, client.ObjectKeyFromObject(crd), crd))
}

// firstFollowing returns a channel with the resources that the operator watches at the moment at which it reports that it follows the
// cluster. It fails the spec if the operator reports nothing else first.
func (w *world) firstFollowing() <-chan []string {
	message := func() string { return w.supervisor.Status().Message }
	Eventually(message).Should(HavePrefix("serving the last known state: "))
	watched := make(chan []string, 1)
	go func() {
		defer GinkgoRecover()
		Eventually(message).WithTimeout(2*outageDuration(GinkgoT()) + 2*time.Minute).WithPolling(time.Millisecond).Should(Equal(following))
		watched <- w.network.watched()
	}()
	return watched
}

var _ = Describe("An outage", Ordered, func() {
	var own *envtest.Environment
	var w *world
	var duration, limit time.Duration
	BeforeAll(func(ctx context.Context) {
		duration, limit = outageDuration(GinkgoT()), time.Minute
		if os.Getenv(outageVariable) != "" {
			limit = followingLimit
		}
		own, _ = ownControlPlane(ctx)
		w = newServedWorld(ctx)
		for _, o := range []client.Object{w.filter("f", "approval_status:app"), w.tag("g", "summer", 1), w.unit("u"), w.token("kept")} {
			w.apply(ctx, o)
		}
	})
	// soon waits until a change at the API server has an effect, and reports the time.
	soon := func(what string, effect func() bool) {
		GinkgoHelper()
		began := time.Now()
		Eventually(effect).WithTimeout(limit).WithPolling(time.Millisecond).Should(BeTrue(), what)
		AddReportEntry(what, time.Since(began).Round(time.Millisecond).String())
	}
	DescribeTable("is followed by what happens next", func(ctx context.Context, fail func(context.Context) (repair func())) {
		doomed, borrower, fresh := w.token("doomed"), w.token("borrower"), w.token("fresh")
		w.apply(ctx, doomed)
		sealed := w.secret("sealed", "vitrine-value-before-the-outage-0123456789")
		sealed.Labels = map[string]string{tokens.Label: "borrower"}
		Expect(kube.Create(ctx, sealed)).To(Succeed())
		borrower.Spec.ExistingSecret = &v1alpha1.SecretKeyReference{Name: "sealed", Key: "token"}
		w.apply(ctx, borrower)
		Eventually(func() string { return w.supervisor.Status().Message }).Should(Equal(following))
		all := w.network.watched()

		repair := fail(ctx)
		watched := w.firstFollowing()
		Consistently(func() []any { return []any{w.accepted(), w.supervisor.Status().Message} }, duration, "100ms").Should(
			ConsistOf(HaveKey("doomed"), HavePrefix("serving the last known state: ")))
		before := len(w.network.written())
		repair()
		Eventually(func() error { return planeAnswers(ctx) }).WithTimeout(duration + time.Minute).WithPolling(time.Millisecond).Should(Succeed())
		Eventually(func() error { return kube.Delete(ctx, doomed) }).WithPolling(time.Millisecond).Should(Succeed())
		soon("a deleted token is rejected", func() bool { _, ok := w.accepted()["doomed"]; return !ok })
		sealed.Data["token"] = []byte("vitrine-value-after-the-outage-0123456789")
		Expect(kube.Update(ctx, sealed)).To(Succeed())
		soon("a rotated value is accepted", func() bool { return w.accepts("vitrine-value-after-the-outage-0123456789") })
		Expect(kube.Create(ctx, fresh)).To(Succeed())
		soon("a new token is accepted", func() bool { _, ok := w.accepted()["fresh"]; return ok })

		Eventually(watched).WithTimeout(time.Minute).Should(Receive(Equal(all)), "the status is about the watches")
		w.settle(ctx, fresh, kstatus.CurrentStatus)
		for _, line := range w.network.written()[before:] {
			Expect(line).To(Or(ContainSubstring("/events"), HavePrefix("POST /api/v1/namespaces/"+w.namespace+"/secrets"), ContainSubstring("fresh"), ContainSubstring("borrower")), "nothing else has changed")
		}
		// Remove what the next entry creates again. No garbage collector runs here.
		for _, o := range []client.Object{fresh, borrower, sealed, w.own(ctx, "fresh"), w.own(ctx, "doomed")} {
			Expect(kube.Delete(ctx, o)).To(Succeed())
		}
		Eventually(w.accepted).Should(And(HaveLen(1), HaveKey("kept")))
	},
		Entry("a stopped control plane", func(context.Context) func() {
			w.stopPlane(own)
			return func() { startPlane(own) }
		}),
		Entry("a stopped etcd", func(context.Context) func() {
			Expect(own.ControlPlane.Etcd.Stop()).To(Succeed())
			return func() { Expect(own.ControlPlane.Etcd.Start()).To(Succeed()) }
		}),
		Entry("a frozen API server", func(context.Context) func() {
			signalAPIServer(own, syscall.SIGSTOP)
			DeferCleanup(func() { signalAPIServer(own, syscall.SIGCONT) })
			return func() { signalAPIServer(own, syscall.SIGCONT) }
		}),
		Entry("a closed port", func(context.Context) func() {
			w.network.cut()
			return w.network.restore
		}),
		Entry("lost packets", func(context.Context) func() { return w.network.lose() }),
	)
	It("ends connections that lose their packets, even if new connections work", func(ctx context.Context) {
		w.apply(ctx, w.token("doomed"))
		w.network.lose()()
		watched := w.firstFollowing()
		Eventually(watched).WithTimeout(time.Minute).Should(Receive(HaveLen(7)))
		Expect(kube.Delete(ctx, w.token("doomed"))).To(Succeed())
		soon("a deleted token is rejected", func() bool { _, ok := w.accepted()["doomed"]; return !ok })
	})
})

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

var _ = Describe("What happened during an outage", func() {
	It("has its effect afterwards without a sweep, and nothing else is written", func(ctx context.Context) {
		w := newServedWorld(ctx)
		edited, deleted, kept := w.filter("edited", "approval_status:app"), w.token("deleted"), w.unit("kept")
		replaced := w.tag("replaced", "spring", 1)
		for _, o := range []client.Object{edited, deleted, kept, replaced} {
			w.apply(ctx, o)
		}
		for i := range 25 { // more than a sweep removes without a confirmation
			Expect(kube.Create(ctx, w.tag(fmt.Sprintf("g%02d", i), "k"+strings.Repeat("a", i), 1))).To(Succeed())
		}
		Eventually(func() int64 { return w.lib.State(ctx).Definitions }).Should(BeEquivalentTo(30))
		for i := range 25 {
			w.settle(ctx, w.tag(fmt.Sprintf("g%02d", i), ""), kstatus.CurrentStatus)
		}
		Eventually(func() string { return w.supervisor.Status().Message }).Should(Equal(following))
		all := w.network.watched()

		w.network.cut()
		watched := w.firstFollowing()
		before := len(w.network.written())
		w.change(ctx, edited, func() { edited.Spec.Query = "approval_status:rej" })
		Expect(kube.DeleteAllOf(ctx, &v1alpha1.Tag{}, client.InNamespace(w.namespace))).To(Succeed())
		Expect(kube.Delete(ctx, deleted)).To(Succeed())
		Expect(kube.Create(ctx, w.tag("replaced", "summer", 2))).To(Succeed())
		w.network.restore()

		Eventually(w.accepted).Should(BeEmpty())
		Eventually(watched).WithTimeout(time.Minute).Should(Receive(Equal(all)), "the status is about the watches")
		w.settle(ctx, edited, kstatus.CurrentStatus)
		w.settle(ctx, replaced, kstatus.CurrentStatus)
		Expect(w.queries()).To(Equal(map[string]string{"edited": "approval_status:rej"}))
		Eventually(func() int64 { return w.lib.State(ctx).Definitions }).Should(BeEquivalentTo(4))
		Expect(w.lib.HasTag(w.id("default"), tagOf("summer"))).To(BeTrue())
		Expect(w.supervisor.Status().HeldSweep).To(BeNil())
		for _, line := range w.network.written()[before:] {
			Expect(line).To(Or(HaveSuffix("/events"), HaveSuffix("/edited/status"), HaveSuffix("/replaced/status")), "nothing else has changed")
		}
	})
})

var _ = Describe("A frozen library", func() {
	It("delays changes to manifests, and applies them after the library is thawed", func(ctx context.Context) {
		w := newServedWorld(ctx)
		f, token := w.filter("f", "approval_status:app"), w.token("front")
		w.apply(ctx, f)
		w.apply(ctx, token)
		lib := w.lib.(*reference.Library)
		_, err := lib.Freeze(ctx)
		Expect(err).NotTo(HaveOccurred())

		w.change(ctx, f, func() { f.Spec.Query = "approval_status:rej" })
		Expect(kube.Delete(ctx, token)).To(Succeed())
		Eventually(func() *metav1.Condition { return w.condition(ctx, f, v1alpha1.ReconcilingCondition) }).Should(
			HaveValue(HaveField("Message", ContainSubstring("vitrine migrate"))))
		Expect(w.lib.Property(w.id("default"))).NotTo(BeZero())
		Expect(w.accepted()).To(HaveKey("front"))

		Expect(lib.Thaw(ctx)).To(Succeed())
		w.settle(ctx, f, kstatus.CurrentStatus)
		Eventually(w.accepted).ShouldNot(HaveKey("front"))
	})
})
