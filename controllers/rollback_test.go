package controllers_test

import (
	"context"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/vitrine-dev/vitrine/controllers/cluster"
)

// ownControlPlane starts an etcd and an API server that only this spec uses and can therefore stop. It returns the data directory of etcd.
func ownControlPlane(ctx context.Context) (own *envtest.Environment, data string) {
	GinkgoHelper()
	sharedCluster, sharedConf, sharedKube := plane, clusterConf, kube
	own = &envtest.Environment{CRDDirectoryPaths: []string{crdDirectory}, ErrorIfCRDPathMissing: true, ControlPlaneStopTimeout: time.Minute}
	dir := GinkgoT().TempDir()
	data = filepath.Join(dir, "etcd")
	// When envtest stops, it deletes only the directories that it has created. The test creates these directories itself, so they survive a
	// restart.
	own.ControlPlane.Etcd = &envtest.Etcd{DataDir: data}
	own.ControlPlane.GetAPIServer().CertDir = filepath.Join(dir, "apiserver")
	Expect(os.Mkdir(own.ControlPlane.APIServer.CertDir, 0o700)).To(Succeed())
	conf, err := own.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		plane, clusterConf, kube = sharedCluster, sharedConf, sharedKube
		Expect(own.Stop()).To(Succeed())
	})
	plane, clusterConf = own, conf
	kube, err = client.New(conf, client.Options{Scheme: sharedKube.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() error {
		return kube.Get(ctx, client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{})
	}).Should(Succeed())
	return own, data
}

// stopPlane stops a control plane to which w is connected.
func (w *world) stopPlane(own *envtest.Environment) {
	GinkgoHelper()
	stopped := make(chan error, 1)
	go func() { stopped <- own.ControlPlane.APIServer.Stop() }()
	// Close the open watches, which delay the stop of the API server. Their clients then find a closed port, as after a crash.
	Eventually(func() chan error {
		w.network.reset()
		return stopped
	}).WithTimeout(time.Minute).Should(Receive(Succeed()))
	Expect(own.ControlPlane.Etcd.Stop()).To(Succeed())
}

// startPlane starts a stopped control plane.
func startPlane(own *envtest.Environment) {
	GinkgoHelper()
	Expect(own.ControlPlane.Etcd.Start()).To(Succeed())
	Expect(own.ControlPlane.APIServer.Start()).To(Succeed())
}

// queries returns the query of each filter that the property "default" serves, keyed by the name of the filter.
func (w *world) queries() map[string]string {
	GinkgoHelper()
	filters, _, err := w.lib.Filters(w.id("default"), 0, 0)
	Expect(err).NotTo(HaveOccurred())
	queries := map[string]string{}
	for _, f := range filters {
		queries[f.Name] = f.Query
	}
	return queries
}

var _ = Describe("A control plane that goes back in time", func() {
	It("is followed: a token that is deleted afterwards is refused, and the library matches the restored state", func(ctx context.Context) {
		own, data := ownControlPlane(ctx)
		w := newServedWorld(ctx)
		w.apply(ctx, w.token("kept"))
		w.apply(ctx, w.token("returns"))
		edited := w.filter("edited", "approval_status:app")
		w.apply(ctx, edited)
		stop := func() { w.stopPlane(own) }
		start := func() {
			GinkgoHelper()
			startPlane(own)
			// Retry, because the client may still use a connection that the API server has closed.
			Eventually(func() error { return kube.Get(ctx, client.ObjectKeyFromObject(edited), edited.DeepCopy()) }).Should(Succeed())
		}
		w.start(func(o *cluster.Options) { o.WatchInterval = 100 * time.Millisecond })

		By("keeping a copy of etcd")
		stop()
		saved := filepath.Join(GinkgoT().TempDir(), "saved")
		Expect(os.CopyFS(saved, os.DirFS(data))).To(Succeed())
		start()
		message := func() string { return w.supervisor.Status().Message }
		Eventually(message).Should(Equal("following the cluster"))

		By("changing objects")
		newer := w.filter("newer", "approval_status:app")
		w.apply(ctx, newer)
		w.remove(ctx, w.token("returns"))
		w.change(ctx, edited, func() { edited.Spec.Query = "approval_status:rej" })
		w.settle(ctx, edited, kstatus.CurrentStatus)
		Eventually(w.accepted).ShouldNot(HaveKey("returns"))
		for range 200 { // more writes than the control plane makes when it starts, so that its version stays behind
			w.change(ctx, newer, func() { newer.Annotations = map[string]string{"version": newer.ResourceVersion} })
		}

		By("restoring the copy")
		stop()
		Expect(os.RemoveAll(data)).To(Succeed())
		Expect(os.CopyFS(data, os.DirFS(saved))).To(Succeed())
		start()
		Eventually(func() error {
			err := kube.Delete(ctx, w.token("kept"))
			return client.IgnoreNotFound(err)
		}).Should(Succeed())
		Eventually(w.accepted).Should(And(HaveKey("returns"), Not(HaveKey("kept"))))
		Eventually(w.queries).Should(Equal(map[string]string{"edited": "approval_status:app"}))
		Eventually(message).Should(Equal("following the cluster"))
		Expect(w.logs.String()).To(ContainSubstring("went back in time"))
		w.apply(ctx, w.filter("after", "approval_status:app"))
	})
})
