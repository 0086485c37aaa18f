package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/hack/controlplane/plane"
)

// cluster is a kube-apiserver with its own etcd.
type cluster struct {
	env        *envtest.Environment
	typed      kubernetes.Interface
	kube       client.WithWatch
	kubeconfig string
}

func startCluster(ctx context.Context, crds, work string) (*cluster, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS is not set: run make scale, which sets it")
	}
	ctrllog.SetLogger(logr.Discard())
	c := &cluster{env: &envtest.Environment{CRDDirectoryPaths: []string{crds}, ErrorIfCRDPathMissing: true}}
	// The limits on concurrent requests are the defaults of envtest, which are also usual for a small real API server.
	config, err := c.env.Start()
	if err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	// Disable client-side throttling, so that only the API server and the operator limit the speed.
	config.QPS = -1
	if err := v1alpha1.AddToScheme(scheme.Scheme); err != nil {
		return nil, err
	}
	if c.kube, err = client.NewWithWatch(config, client.Options{}); err != nil {
		return nil, err
	}
	if c.typed, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	c.kubeconfig = filepath.Join(work, "kubeconfig")
	if err := os.WriteFile(c.kubeconfig, c.env.KubeConfig, 0o600); err != nil {
		return nil, err
	}
	return c, wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return c.kube.Get(ctx, types.NamespacedName{Name: "kube-system"}, &corev1.Namespace{}) == nil, nil
	})
}

func (c *cluster) stop() { _ = c.env.Stop() }

// writes returns the API server's counts of requests that change objects of Vitrine's kinds, or Events.
func (c *cluster) writes(ctx context.Context) (plane.Writes, error) {
	text, err := c.typed.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the API server's counters: %w", err)
	}
	return plane.CountWrites(string(text), v1alpha1.GroupVersion.Group, eventsv1.GroupName)
}

// during calls do and returns the writes to the API server during the call.
func (c *cluster) during(ctx context.Context, do func() error) (plane.Writes, error) {
	before, err := c.writes(ctx)
	if err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	after, err := c.writes(ctx)
	return after.Since(before), err
}

// each calls do with each i from 0 to n-1, at most workers calls at a time, and returns the first error.
func each(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
