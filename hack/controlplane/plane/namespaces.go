//go:build unix

package plane

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// refusal and silence are the times without a successful request after which the API server counts as stopped: refusal if the API server
// refuses connections, and silence after any other error. silence is longer, because an API server on a busy machine can be slow.
const (
	refusal = 5 * time.Second
	silence = 2 * time.Minute
)

// watch does the work of the namespace controller until ctx ends: it empties and removes terminating namespaces. Its requests also
// show whether the API server responds.
func (p *Plane) watch(ctx context.Context) {
	defer close(p.stopped)
	answered := time.Now()
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := removeNamespaces(ctx, p.env.Config)
		limit := silence
		if utilnet.IsConnectionRefused(err) {
			limit = refusal
		}
		switch {
		case err == nil:
			answered = time.Now()
		case ctx.Err() == nil && p.Err() == nil && time.Since(answered) > limit:
			p.err = fmt.Errorf("the API server does not respond: %w%s", err, p.tails())
			close(p.done)
		}
	}, 500*time.Millisecond)
}

// removeNamespaces deletes the content of terminating namespaces, and finalizes empty namespaces. It fails if the API server cannot list
// the namespaces. It ignores other errors, because the next call tries again. A namespace that cannot be emptied stays Terminating, as in
// any cluster.
func removeNamespaces(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, silence/4)
	defer cancel()
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	deleted, err := kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Terminating"})
	if err != nil {
		return err
	}
	for _, ns := range deleted.Items {
		if empty(ctx, config, kube, ns.Name) {
			ns.Spec.Finalizers = nil
			_, _ = kube.CoreV1().Namespaces().Finalize(ctx, &ns, metav1.UpdateOptions{})
		}
	}
	return nil
}

// empty deletes the content of a namespace and reports whether nothing is left. It returns false if objects with finalizers remain, or if
// it cannot list the content.
func empty(ctx context.Context, config *rest.Config, kube kubernetes.Interface, namespace string) bool {
	lists, err := discovery.ServerPreferredNamespacedResources(kube.Discovery())
	if err != nil {
		return false
	}
	resources, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "deletecollection"}}, lists))
	if err != nil {
		return false
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return false
	}
	left := false
	for resource := range resources {
		of := objects.Resource(resource).Namespace(namespace)
		err := of.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		found, listErr := of.List(ctx, metav1.ListOptions{Limit: 1})
		left = left || err != nil || listErr != nil || len(found.Items) > 0
	}
	return !left
}
