package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/server/library"
)

var _ = Describe("The sweep at start", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newServedWorld(ctx) })

	It("removes nothing while a CRD is missing", func(ctx context.Context) {
		t := w.tag("g", "summer", 1)
		w.apply(ctx, t)
		w.stop()
		w.pastSecond()
		deleteCRD(ctx, "tags.vitrine.dev")
		DeferCleanup(installCRDs)

		w.launch()
		Eventually(func() error { return w.supervisor.Status().LastError }).Should(MatchError(And(
			ContainSubstring("install the CRDs (kubectl apply --server-side -k config/crd)"), ContainSubstring("Tag"),
		)))
		Expect(w.supervisor.Status()).To(And(HaveField("Synced", false), HaveField("Remembered", true), HaveField("Message", HavePrefix("serving the last known state: "))))
		Expect(w.matching(ctx, "tags.marketer_tags.key:summer")).To(BeEquivalentTo(1))

		installCRDs()
		Eventually(func() bool { return w.supervisor.Status().Synced }).Should(BeTrue())
		Expect(w.supervisor.Status().HeldSweep).To(Equal(&library.HeldError{Remove: 1, Total: 2}), "the object was deleted with its CRD")
		Expect(w.matching(ctx, "tags.marketer_tags.key:summer")).To(BeEquivalentTo(1))
		w.apply(ctx, w.tag("g", "summer", 1))
		Expect(w.supervisor.Status().HeldSweep).To(BeNil())
	})

	It("revokes deleted tokens even while the rest is held", func(ctx context.Context) {
		t := w.token("t")
		w.apply(ctx, t)
		for i := range 25 {
			Expect(kube.Create(ctx, w.tag(fmt.Sprintf("g%02d", i), "k"+strings.Repeat("a", i), 1))).To(Succeed())
		}
		Eventually(func() int64 { return w.lib.State(ctx).Definitions }).Should(BeEquivalentTo(27))
		w.stop()
		Expect(kube.DeleteAllOf(ctx, &v1alpha1.Tag{}, client.InNamespace(w.namespace))).To(Succeed())
		Expect(kube.Delete(ctx, t)).To(Succeed())

		w.start()
		Expect(w.accepted()).To(BeEmpty())
		Expect(w.supervisor.Status().HeldSweep).To(Equal(&library.HeldError{Remove: 25, Total: 26}))

		By("applying some of what is missing")
		w.apply(ctx, w.tag("g00", "k", 1))
		Expect(w.supervisor.Status().HeldSweep).To(HaveField("Remove", 24))
	})

	It("removes nothing in another cluster until the store is handed over", func(ctx context.Context) {
		f := w.filter("f", "approval_status:app")
		w.apply(ctx, f)
		w.stop()
		// Make the store belong to another cluster.
		elsewhere := library.Owner{Install: "the-other-cluster", Kind: library.KindTag, Namespace: w.namespace, Name: "theirs"}
		results, err := w.lib.Apply(ctx, []library.Definition{{
			Property: w.id("default"), Owner: elsewhere, Tag: &library.TagRule{Tag: tagOf("theirs"), Items: []int64{1}},
		}})
		Expect(err).NotTo(HaveOccurred())
		Expect(results[0].Err).NotTo(HaveOccurred())
		Expect(w.lib.SetMark(ctx, "install", "the-other-cluster")).To(Succeed())
		w.remove(ctx, f)

		w.launch()
		Eventually(func() error { return w.supervisor.Status().LastError }).Should(MatchError(And(
			ContainSubstring("check the kubeconfig"), ContainSubstring("the-other-cluster"),
		)))
		Expect(w.lib.Definition(ctx, elsewhere)).Error().NotTo(HaveOccurred())
		Expect(w.lib.Mark("install")).To(Equal("the-other-cluster"))

		Expect(w.supervisor.Loaded()).To(BeTrue())
		release := w.network.hold()
		DeferCleanup(func() { release() })
		removed, err := w.supervisor.ConfirmSweep(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(removed).To(Equal(1))
		Expect(w.supervisor.Loaded()).To(BeFalse(), "the store is empty until the new cluster was read")
		Expect(w.supervisor.Status()).To(And(HaveField("Synced", false), HaveField("Remembered", false), HaveField("Message", HavePrefix("nothing loaded yet: "))))
		release()
		release = func() {}
		Eventually(func() bool { return w.supervisor.Status().Synced }).Should(BeTrue())
		Expect(w.supervisor.Loaded()).To(BeTrue())
		Expect(w.lib.Mark("install")).NotTo(Equal("the-other-cluster"))
		Expect(w.lib.Definition(ctx, elsewhere)).Error().To(MatchError(library.ErrNotFound))
	})

	It("removes only from the watched namespaces", func(ctx context.Context) {
		other := newWorld(ctx)
		both := func(o *cluster.Options) { o.Namespaces = []string{w.namespace, other.namespace} }
		w.start(both)
		w.apply(ctx, other.property("default"))
		w.apply(ctx, w.filter("f", "approval_status:app"))
		w.stop()
		Expect(kube.Delete(ctx, other.property("default"))).To(Succeed())
		Expect(kube.Delete(ctx, w.filter("f", ""))).To(Succeed())

		w.start() // by default, the operator of w watches only its own namespace
		Expect(w.lib.Properties()).To(ConsistOf(w.id("default"), other.id("default")))
		Expect(w.lib.Filters(w.id("default"), 0, 0)).To(BeEmpty(), "swept in the watched namespace")

		w.start(both)
		Expect(w.lib.Properties()).To(ConsistOf(w.id("default")))
	})

	It("is held and reported if it would remove many definitions, and runs when confirmed", func(ctx context.Context) {
		for i := range 25 {
			Expect(kube.Create(ctx, w.tag(fmt.Sprintf("g%02d", i), "k"+strings.Repeat("a", i), 1))).To(Succeed())
		}
		last := w.tag("g24", "")
		w.settle(ctx, last, kstatus.CurrentStatus)
		Eventually(func() int64 { return w.lib.State(ctx).Definitions }).Should(BeEquivalentTo(26))
		w.stop()
		Expect(kube.DeleteAllOf(ctx, &v1alpha1.Tag{}, client.InNamespace(w.namespace))).To(Succeed())

		w.start()
		held := w.supervisor.Status().HeldSweep
		Expect(held).To(Equal(&library.HeldError{Remove: 25, Total: 26}))
		Expect(w.supervisor.Status().Message).To(Equal(held.Error()))
		Expect(w.lib.HasTag(w.id("default"), tagOf("k"))).To(BeTrue())
		Expect(w.matching(ctx, "tags.marketer_tags.key:k")).To(BeEquivalentTo(1), "the held definitions stay served")
		Eventually(func() ([]string, error) {
			var events eventsv1.EventList
			err := kube.List(ctx, &events, client.InNamespace(w.namespace))
			var notes []string
			for _, e := range events.Items {
				if e.Reason == "SweepHeld" && e.Regarding.Name == w.namespace {
					notes = append(notes, e.Note)
				}
			}
			return notes, err
		}).Should(ContainElement(ContainSubstring("vitrine sweep --confirm")))

		// A new object must wait for a claim that a missing object still holds. It gets the claim as soon as the sweep is confirmed.
		fresh := w.tag("z", "k", 2)
		Expect(kube.Create(ctx, fresh)).To(Succeed())
		Expect(w.settle(ctx, fresh, kstatus.FailedStatus).Reason).To(Equal(v1alpha1.ReasonClaimHeld))
		removed, err := w.supervisor.ConfirmSweep(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(removed).To(Equal(25))
		Expect(w.supervisor.Status().HeldSweep).To(BeNil())
		w.settle(ctx, fresh, kstatus.CurrentStatus)

		Expect(w.supervisor.ConfirmSweep(ctx)).Error().To(MatchError(cluster.ErrNothingHeld))
	})
})

var _ = Describe("The supervisor", func() {
	It("runs without an API server, and follows it once it is available", func(ctx context.Context) {
		w := newWorld(ctx)
		w.network.cut()
		w.launch()
		Eventually(func() error { return w.supervisor.Status().LastError }).Should(MatchError(ContainSubstring("the network is cut")))
		Expect(w.supervisor.Status()).To(And(HaveField("Synced", false), HaveField("Remembered", false), HaveField("Message", HavePrefix("nothing loaded yet: "))))
		w.network.restore()
		Eventually(func() bool { return w.supervisor.Status().Synced }).Should(BeTrue())
		Expect(w.supervisor.Status()).To(And(HaveField("Remembered", true), HaveField("LastError", BeNil())))

		By("starting without it, with a store that remembers a load")
		w.network.cut()
		w.launch()
		Eventually(func() error { return w.supervisor.Status().LastError }).ShouldNot(Succeed())
		Expect(w.supervisor.Status()).To(And(HaveField("Remembered", true), HaveField("Message", HavePrefix("serving the last known state: "))))
	})

	It("reports an unreachable API server while a manager runs", func(ctx context.Context) {
		w := newWorld(ctx)
		w.launch(func(o *cluster.Options) { o.WatchInterval = 50 * time.Millisecond })
		message := func() string { return w.supervisor.Status().Message }
		Eventually(message).Should(Equal("following the cluster"))
		w.network.cut()
		Eventually(message).Should(HavePrefix("serving the last known state: "))
		Expect(w.supervisor.Status().Synced).To(BeTrue())
		w.network.restore()
		Eventually(message).Should(Equal("following the cluster"))
	})

	It("stops when its context ends, even if a cache cannot be filled", func(ctx context.Context) {
		w := newWorld(ctx)
		w.launch(func(o *cluster.Options) { o.Namespaces = []string{"NONE/x"} })
		Eventually(w.network.used).Should(BeTrue(), "the manager is created after the cluster was identified")
		Consistently(func() cluster.Status { return w.supervisor.Status() }, time.Second).Should(
			And(HaveField("LastError", BeNil()), HaveField("Synced", false)), "the manager has to be running, without its caches")
		w.stop()
	})

	It("refuses an empty namespace", func() {
		_, err := cluster.NewSupervisor(cluster.Options{
			RESTConfig: func() (*rest.Config, error) { return nil, errors.New("not asked") },
			Library:    newWorld(context.Background()).lib, Namespaces: []string{"shop", ""},
		})
		Expect(err).To(MatchError(ContainSubstring("an empty name")))
	})

	It("removes nothing when another cluster answers at the same address", func(ctx context.Context) {
		w := newServedWorld(ctx)
		g := w.tag("g", "summer", 1)
		w.apply(ctx, g)
		w.network.swap(true)
		Expect(kube.Delete(ctx, g)).To(Succeed())
		Eventually(w.logs.String).Should(ContainSubstring("the definition of the deleted object is kept for now"))
		Expect(w.matching(ctx, "tags.marketer_tags.key:summer")).To(BeEquivalentTo(1))

		By("stopping what follows the wrong one")
		w.launch(func(o *cluster.Options) { o.WatchInterval = 50 * time.Millisecond })
		Eventually(func() error { return w.supervisor.Status().LastError }).Should(MatchError(ContainSubstring("check the kubeconfig")))
		w.network.swap(false)
		Eventually(func() int64 { return w.matching(ctx, "tags.marketer_tags.key:summer") }).Should(BeZero())
		w.network.swap(true)
		Eventually(func() error { return w.supervisor.Status().LastError }).Should(HaveOccurred())
		Expect(w.supervisor.Status().Synced).To(BeFalse())
	})

	It("holds what was deleted with its CRD, follows the other kinds, and reports what to do", func(ctx context.Context) {
		w := newServedWorld(ctx)
		f := w.filter("f", "approval_status:app")
		w.apply(ctx, f)
		for i := range 3 {
			w.apply(ctx, w.tag(fmt.Sprintf("g%d", i), "k"+strings.Repeat("a", i), int64(i+1)))
		}
		pruned := w.tag("pruned", "pruned", 1)
		w.apply(ctx, pruned)
		w.remove(ctx, pruned)
		Eventually(func() int64 { return w.matching(ctx, "tags.marketer_tags.key:pruned") }).Should(BeZero(), "while the CRD exists, a deletion is not held")
		served := func() int64 { return w.matching(ctx, "tags.marketer_tags.key:(k ka kaa)") }
		held := func() *library.HeldError { return w.supervisor.Status().HeldSweep }
		Expect(served()).To(BeEquivalentTo(3))
		w.pastSecond()
		deleteCRD(ctx, "tags.vitrine.dev")
		DeferCleanup(installCRDs)
		Eventually(held).Should(HaveField("Remove", 3))
		Expect(served()).To(BeEquivalentTo(3))
		Eventually(func() string { return w.supervisor.Status().Message }).Should(And(
			ContainSubstring("tags.vitrine.dev"), ContainSubstring("kubectl apply --server-side -k config/crd"),
		))
		Expect(w.logs.String()).To(And(ContainSubstring("CRD is missing"), ContainSubstring("tags.vitrine.dev"), ContainSubstring("config/crd")))
		w.change(ctx, f, func() { f.Spec.Query = "approval_status:rej" })
		w.settle(ctx, f, kstatus.CurrentStatus)

		installCRDs()
		w.apply(ctx, w.tag("g0", "k", 1))
		Expect(held()).To(HaveField("Remove", 2))
		Expect(served()).To(BeEquivalentTo(3))
		By("deleting one that is back")
		w.remove(ctx, w.tag("g0", ""))
		Eventually(served).Should(BeEquivalentTo(2))
		By("starting again")
		w.start()
		Expect(held()).To(HaveField("Remove", 2))
		Expect(served()).To(BeEquivalentTo(2))
		w.apply(ctx, w.tag("g1", "ka", 2))
		Expect(held()).To(HaveField("Remove", 1))
		Expect(w.supervisor.ConfirmSweep(ctx)).To(Equal(1))
		Expect(held()).To(BeNil())
		Expect(served()).To(BeEquivalentTo(1))
		Eventually(func() string { return w.supervisor.Status().Message }).Should(Equal("following the cluster"))
	})

	It("reloads its configuration before every attempt", func(ctx context.Context) {
		w := newWorld(ctx)
		asked := 0
		w.launch(func(o *cluster.Options) {
			good := o.RESTConfig
			o.RESTConfig = func() (*rest.Config, error) {
				if asked++; asked == 1 {
					return nil, errors.New("the file is being written")
				}
				return good()
			}
		})
		Eventually(func() bool { return w.supervisor.Status().Synced }).Should(BeTrue())
	})

	It("stops at once while an API server does not respond", func(ctx context.Context) {
		silent, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(silent.Close)
		w := newWorld(ctx)
		w.launch(func(o *cluster.Options) {
			o.RESTConfig = func() (*rest.Config, error) { return &rest.Config{Host: "http://" + silent.Addr().String()}, nil }
		})
		conn, err := silent.Accept()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(conn.Close)
		w.stop()
	})

	It("loads a thousand objects in one call", func(ctx context.Context) {
		w := newServedWorld(ctx)
		w.stop()
		for i := range 1000 {
			Expect(kube.Create(ctx, w.filter(fmt.Sprintf("f%04d", i), "approval_status:app"))).To(Succeed())
		}
		w.start()
		_, n, err := w.lib.Filters(w.id("default"), 0, 1)
		Expect(err).NotTo(HaveOccurred())
		Expect(n).To(Equal(1000), "served as soon as the load is reported")
	})

	It("needs only the permissions in config/rbac", func(ctx context.Context) {
		text, err := os.ReadFile("../config/rbac/role.yaml")
		Expect(err).NotTo(HaveOccurred())
		role := &rbacv1.ClusterRole{}
		Expect(yaml.UnmarshalStrict(text, role)).To(Succeed())
		Expect(kube.Create(ctx, role)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, role)).To(Succeed()) })
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
		}
		Expect(kube.Create(ctx, binding)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, binding)).To(Succeed()) })
		user, err := plane.AddUser(envtest.User{Name: "operator"}, nil)
		Expect(err).NotTo(HaveOccurred())

		w := newWorld(ctx)
		w.start(func(o *cluster.Options) {
			o.RESTConfig = func() (*rest.Config, error) { return w.network.config(user.Config()), nil }
			o.Namespaces = nil
		})
		w.apply(ctx, w.property("default"))
		t := w.token("t")
		for _, o := range []client.Object{t, w.filter("f", "approval_status:app"), w.tag("g", "summer", 1), w.unit("u")} {
			w.apply(ctx, o)
		}
		s := w.own(ctx, "t")
		s.Data["url"] = nil
		Expect(kube.Update(ctx, s)).To(Succeed())
		Eventually(func() string { return string(w.own(ctx, "t").Data["url"]) }).Should(Equal(externalURL))
		Eventually(func() (int, error) {
			var events eventsv1.EventList
			err := kube.List(ctx, &events, client.InNamespace(w.namespace))
			return len(events.Items), err
		}).Should(Equal(5), "one of each object")
		Expect(w.logs.String()).NotTo(ContainSubstring("forbidden"))
	})

	It("refuses incomplete options", func() {
		Expect(cluster.NewSupervisor(cluster.Options{})).Error().To(MatchError(ContainSubstring("required")))
	})
})

func deleteCRD(ctx context.Context, name string) {
	GinkgoHelper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = name
	Expect(kube.Delete(ctx, crd)).To(Succeed())
	Eventually(func() bool { return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: name}, crd)) }).Should(BeTrue())
}

// installCRDs installs the CRDs that are missing, and waits until the API server serves all of them.
func installCRDs() {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(clusterConf, envtest.CRDInstallOptions{Paths: []string{crdDirectory}, ErrorIfPathMissing: true})
	Expect(err).NotTo(HaveOccurred())
}
