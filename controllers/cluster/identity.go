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
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get

// identityNamespace is the namespace whose UID is the identity of a cluster. Each cluster has this namespace from the start, and the API
// server refuses to delete it.
const identityNamespace = "kube-system"

// identifyTimeout is the time limit for the requests that identify a cluster.
const identifyTimeout = 30 * time.Second

// identify returns the identity of a cluster. It fails if the cluster does not serve the six kinds.
func identify(ctx context.Context, cfg *rest.Config) (string, error) {
	// Without the timeout, a server that accepts the connection and never responds would block identify forever.
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
		return "", fmt.Errorf("list the served kinds: %w", err)
	}
	var absent []string
	for _, k := range library.Kinds() {
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
		return "", fmt.Errorf("the cluster does not serve %s of %s: install the CRDs (%s)", strings.Join(absent, ", "), v1alpha1.GroupVersion, installCRDs)
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

// errOtherCluster means that the cluster's identity has changed: another cluster responds at the address of the API server, or the
// cluster's data was replaced.
var errOtherCluster = errors.New("another cluster responds at the address of the API server")

// sameCluster returns errOtherCluster if the API server no longer belongs to the cluster for which this manager was created.
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

// sameHistory returns errWentBack if the data of the API server went back in time.
func (f *follower) sameHistory(ctx context.Context) error {
	in := metav1.NamespaceAll
	if len(f.Namespaces) > 0 {
		in = f.Namespaces[0]
	}
	return f.watches.advance(ctx, f.direct, in)
}

func servesKind(name string) func(r metav1.APIResource) bool {
	return func(r metav1.APIResource) bool { return r.Kind == name }
}
