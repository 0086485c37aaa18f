package controllers_test

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// assetsVariable is the environment variable with the directory of kube-apiserver and etcd.
const assetsVariable = "KUBEBUILDER_ASSETS"

// crdDirectory holds the CRDs that the suite installs.
const crdDirectory = "../config/crd/bases"

// The API server of the suite. Every spec works in its own namespace and removes the objects that it creates.
var (
	plane       *envtest.Environment
	clusterConf *rest.Config
	kube        client.Client
)

func TestControllers(t *testing.T) {
	if os.Getenv(assetsVariable) == "" {
		t.Fatalf("%s is not set: run `make test`, or `%s=\"$(make -s assets)\" go test ./controllers/...`", assetsVariable, assetsVariable)
	}
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	suite.Timeout = 16*time.Minute + 6*outageDuration(t)
	RunSpecs(t, "Controllers", suite, reporter)
}

var _ = BeforeSuite(func(ctx context.Context) {
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	ctrllog.SetLogger(GinkgoLogr)

	plane = &envtest.Environment{CRDDirectoryPaths: []string{crdDirectory}, ErrorIfCRDPathMissing: true, DownloadBinaryAssets: false}
	var err error
	clusterConf, err = plane.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })

	s := runtime.NewScheme()
	Expect(scheme.AddToScheme(s)).To(Succeed())
	Expect(v1alpha1.AddToScheme(s)).To(Succeed())
	Expect(apiextensionsv1.AddToScheme(s)).To(Succeed())
	kube, err = client.New(clusterConf, client.Options{Scheme: s})
	Expect(err).NotTo(HaveOccurred())

	// No kube-controller-manager runs here. The API server creates kube-system itself, some time after its start.
	Eventually(func() error {
		return kube.Get(ctx, types.NamespacedName{Name: "kube-system"}, &corev1.Namespace{})
	}).Should(Succeed())
})
