// Package e2e installs Vitrine into the cluster of KUBECONFIG and tests it there: `make e2e`. Its specs have the labels pages, install,
// after, helm and replicas, so that a caller can run them separately and, for example, kill the node between install and after. The specs
// with the label replicas need an OpenSearch node without security at OPENSEARCH_URL that the pods of the cluster can reach. Without such a
// node, they are skipped. The specs with the label pages need a node whose containerd this machine can use, and run only if a label filter
// selects them.
//
// Some specs run the commands of pages (pages_test.go), with kubectl, curl, git and tar. They need the working directory to be the root
// of the repository.
//
// The specs use the namespaces vitrine-system, shop and elsewhere, which must not exist before the run. At the end, they remove these
// namespaces and all other objects that they have created. The first failing spec ends the run, and prints the pods, logs and warnings of
// the cluster.
package e2e

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/vitrine-dev/vitrine/hack/install/render"
)

const (
	system = "vitrine-system" // namespace of the server
	shop   = "shop"           // namespace of config/samples and of the clients
	other  = "elsewhere"      // a namespace that an installation limited to its own namespaces must not touch
	server = "https://vitrine.vitrine-system.svc"
	group  = "vitrine.dev/v1alpha1"
	owner  = client.FieldOwner("vitrine-e2e")

	// patience is the time limit for a change that a cluster makes by itself. prompt is a shorter time limit, such as for a deletion that
	// nothing may block.
	patience = 2 * time.Minute
	prompt   = time.Minute
	// sampleItems is the number of imported items.
	sampleItems = 200
)

var (
	imageFlag  = flag.String("image", "", "the image to install, which the cluster's nodes have or can pull")
	configFlag = flag.String("config", "config", "the folder of the sources")
	itemsFlag  = flag.String("items", "", "NDJSON with items to import")
	pluginFlag = flag.String("plugin", "bin/kubectl-vitrine", "the plugin of kubectl")
)

// The cluster, and the objects that are installed in it.
var (
	at     types.Image
	items  string
	access *rest.Config
	kube   client.Client
	typed  kubernetes.Interface
)

func TestE2E(t *testing.T) {
	if *imageFlag == "" {
		t.Skip("needs a cluster: make e2e")
	}
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	suite.Timeout, suite.FailFast, reporter.Verbose, reporter.NoColor = 15*time.Minute, true, true, true
	RunSpecs(t, "Vitrine in a cluster", suite, reporter)
}

var _ = BeforeSuite(func() {
	// Discard this log, because client-go logs the end of a forwarded connection as an error, even if the response was already complete.
	klog.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	var err error
	at, err = render.Image(*imageFlag)
	Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(*itemsFlag)
	Expect(err).NotTo(HaveOccurred())
	lines := bytes.SplitAfterN(text, []byte("\n"), sampleItems+1)
	Expect(len(lines)).To(BeNumerically(">", sampleItems), "items of %s", *itemsFlag)
	items = string(bytes.Join(lines[:sampleItems], nil))
	// Use only KUBECONFIG, so that the specs never run in the current cluster of the user by accident.
	path := os.Getenv("KUBECONFIG")
	Expect(path).NotTo(BeEmpty(), "KUBECONFIG names the cluster to install into")
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(path)}
	access, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	Expect(err).NotTo(HaveOccurred())
	prepareDesk()
	access.QPS, access.Burst = 100, 200
	kube, err = client.New(access, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	typed, err = kubernetes.NewForConfig(access)
	Expect(err).NotTo(HaveOccurred())
})

// The containers below run in this order on one cluster.
var _ = Describe("Vitrine", Ordered, func() {
	AfterEach(func(ctx context.Context) {
		if CurrentSpecReport().Failed() {
			describe(ctx)
		}
	})
	Context("installed by the commands of pages", Label("pages"), pageSpecs)
	Context("installed from config/default", Label("install"), installSpecs)
	Context("installed earlier, even if its node was killed since", Label("after"), afterSpecs)
	Context("installed with the chart", Label("helm"), helmSpecs)
	Context("installed with two replicas on OpenSearch", Label("replicas"), replicaSpecs)
})

// kustomization renders a kustomization of config.
func kustomization(name string) []*unstructured.Unstructured {
	GinkgoHelper()
	text, err := render.Kustomize(filepath.Join(*configFlag, name), at)
	Expect(err).NotTo(HaveOccurred())
	objects, err := render.Objects(text)
	Expect(err).NotTo(HaveOccurred())
	return objects
}

// object returns an object that has only a name.
func object(version, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// get returns the object in the cluster that has the kind and the name of named.
func get(ctx context.Context, named *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o := object(named.GetAPIVersion(), named.GetKind(), "", "")
	return o, kube.Get(ctx, client.ObjectKeyFromObject(named), o)
}

// apply applies objects server-side. It retries an object whose kind has just been defined.
func apply(ctx context.Context, objects ...*unstructured.Unstructured) {
	GinkgoHelper()
	for _, o := range objects {
		Eventually(ctx, func() error {
			err := kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), owner, client.ForceOwnership)
			if err != nil && !gone(err) {
				return StopTrying("refused").Wrap(err)
			}
			return err
		}).WithTimeout(20*time.Second).Should(Succeed(), "apply %s %s", o.GetKind(), o.GetName())
	}
}

// gone reports whether err means that an object does not exist, or that the API server does not know its kind.
func gone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// remove deletes objects and waits until they are gone. It ignores objects that do not exist.
func remove(ctx context.Context, objects ...*unstructured.Unstructured) {
	GinkgoHelper()
	for _, o := range objects {
		if err := kube.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)); !gone(err) {
			Expect(err).NotTo(HaveOccurred())
		}
		Eventually(ctx, func() (bool, error) {
			is, err := get(ctx, o)
			if gone(err) {
				return true, nil
			}
			if err == nil {
				err = fmt.Errorf("the object has the finalizers %v", is.GetFinalizers())
			}
			return false, err
		}).WithTimeout(prompt).Should(BeTrue(), "%s %s goes", o.GetKind(), o.GetName())
	}
}

// namespace returns a namespace that admits only restricted pods.
func namespace(name string) *unstructured.Unstructured {
	o := object("v1", "Namespace", "", name)
	o.SetLabels(map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"})
	return o
}

// crds returns the CustomResourceDefinitions.
func crds() (all []*unstructured.Unstructured) {
	for _, kind := range []string{"accesstokens", "activateunits", "contentfilters", "properties", "tags", "webhooks"} {
		all = append(all, object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", kind+".vitrine.dev"))
	}
	return all
}

// rolledOut waits until the Deployment has rolled out its newest version, and returns a pod. If before is not nil, rolledOut also waits
// until another pod has replaced that pod.
func rolledOut(ctx context.Context, before *corev1.Pod) (pod *corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		d, err := typed.AppsV1().Deployments(system).Get(ctx, "vitrine", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation))
		g.Expect([]int32{d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas}).To(Equal(slices.Repeat([]int32{*d.Spec.Replicas}, 3)), "pods, updated and available ones")
		pods, err := readyPods(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods).To(HaveLen(int(*d.Spec.Replicas)))
		for _, pod = range pods {
			if before != nil {
				g.Expect(pod.UID).NotTo(Equal(before.UID), "the pod %s was not replaced", before.Name)
			}
		}
	}).Should(Succeed())
	return pod
}

// readyPod returns a pod of the server that is ready and not terminating.
func readyPod(ctx context.Context) (*corev1.Pod, error) {
	pods, err := readyPods(ctx)
	if err != nil {
		return nil, err
	}
	return pods[0], nil
}

// readyPods returns the pods of the server that are ready and not terminating. It fails if there is none.
func readyPods(ctx context.Context) (ready []*corev1.Pod, err error) {
	list, err := typed.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=vitrine"})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		p := &list.Items[i]
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil {
				ready = append(ready, p)
			}
		}
	}
	if len(ready) == 0 {
		return nil, fmt.Errorf("none of %d pods is ready", len(list.Items))
	}
	return ready, nil
}

// describe prints information about a failed spec: pods, warnings, and the server's log.
func describe(ctx context.Context) {
	tail := int64(20)
	for _, ns := range []string{system, shop} {
		pods, err := typed.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			GinkgoWriter.Printf("list the pods of %s: %v\n", ns, err)
			return
		}
		for _, p := range pods.Items {
			GinkgoWriter.Printf("--- pod %s/%s: %s\n", ns, p.Name, p.Status.Phase)
			for _, s := range p.Status.ContainerStatuses {
				GinkgoWriter.Printf("%s: %d restarts, %+v, before that %+v\n", s.Name, s.RestartCount, s.State, s.LastTerminationState)
			}
			text, err := typed.CoreV1().Pods(ns).GetLogs(p.Name, &corev1.PodLogOptions{Container: p.Spec.Containers[0].Name, TailLines: &tail}).DoRaw(ctx)
			GinkgoWriter.Printf("%s%v\n", text, err)
		}
		events, err := typed.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
		if err != nil {
			continue
		}
		for _, e := range events.Items {
			GinkgoWriter.Printf("event on %s %s: %s: %s\n", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
}
