package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get

// identityNamespace is the namespace whose UID is the identity of a cluster: it is there from the start and cannot be
// deleted.
const identityNamespace = "kube-system"

// identifyTimeout is how long the API server may take to say what it is.
const identifyTimeout = 30 * time.Second

// identify asks a cluster for its identity, and whether it serves the five kinds.
func identify(ctx context.Context, cfg *rest.Config) (string, error) {
	// A server that takes the connection and never answers is as good as none.
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	scheme, err := newScheme()
	if err != nil {
		return "", err
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme, Mapper: newMapper()})
	if err != nil {
		return "", fmt.Errorf("reach the API server: %w", err)
	}
	install, err := clusterOf(ctx, c)
	if err != nil {
		return "", err
	}
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return "", fmt.Errorf("reach the API server: %w", err)
	}
	served, err := d.ServerResourcesForGroupVersionWithContext(ctx, v1alpha1.GroupVersion.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("ask which kinds are served: %w", err)
	}
	var absent []string
	for _, k := range kinds() {
		name := k.String()
		d, err := readCRD(ctx, c, k)
		if err != nil {
			return "", err
		}
		if d.since.IsZero() || served == nil || !slices.ContainsFunc(served.APIResources, servesKind(name)) {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		return "", fmt.Errorf("install the CRDs (%s): the cluster does not serve %s of %s", installCRDs, strings.Join(absent, ", "), v1alpha1.GroupVersion)
	}
	return install, nil
}

// clusterOf reads the identity of a cluster.
func clusterOf(ctx context.Context, r client.Reader) (string, error) {
	ns := &corev1.Namespace{}
	if err := r.Get(ctx, types.NamespacedName{Name: identityNamespace}, ns); err != nil {
		return "", fmt.Errorf("read the identity of the cluster (the UID of namespace %s): %w", identityNamespace, err)
	}
	return string(ns.UID), nil
}

// errOtherCluster says that the address of the API server has come to mean another cluster, or that its data were put
// back to before the store met it.
var errOtherCluster = errors.New("the API server answers for another cluster than before")

// sameCluster fails unless the API server still answers for the cluster that this manager was made for.
func (f *follower) sameCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	install, err := clusterOf(ctx, f.direct)
	if err != nil {
		return err
	}
	if install != f.set.Install {
		return errOtherCluster
	}
	return nil
}

// sameHistory fails with errWentBack when the data of the API server went back in time.
func (f *follower) sameHistory(ctx context.Context) error {
	in := metav1.NamespaceAll
	if len(f.Namespaces) > 0 {
		in = f.Namespaces[0]
	}
	return f.versions.advance(ctx, f.direct, in)
}

func servesKind(name string) func(r metav1.APIResource) bool {
	return func(r metav1.APIResource) bool { return r.Kind == name }
}
