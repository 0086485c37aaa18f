package connect

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/message"
	"github.com/vitrine-dev/vitrine/internal/exit"
)

// Cluster is the flags that select a cluster and a namespace. As in kubectl, the commands use the user's own kubeconfig and
// permissions.
type Cluster struct {
	Kubeconfig, context, namespace string
	allNamespaces                  bool
}

// Bind declares the flags without --all-namespaces.
func (c *Cluster) Bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig to use (default: the files in KUBECONFIG, else ~/.kube/config)")
	fs.StringVar(&c.context, "context", "", "context of the kubeconfig (default: the current context)")
	fs.StringVarP(&c.namespace, "namespace", "n", "", "namespace (default: the context's namespace)")
	_ = cmd.RegisterFlagCompletionFunc("namespace", c.Suggest(&corev1.NamespaceList{})) // an error means that the flag does not exist
}

// BindAll declares the flags, including --all-namespaces.
func (c *Cluster) BindAll(cmd *cobra.Command) {
	c.Bind(cmd)
	cmd.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "all namespaces")
}

// Load returns the configuration of the cluster, and the selected namespace ("" for all namespaces).
func (c *Cluster) Load() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", exit.Usagef("no cluster: pass --kubeconfig or set KUBECONFIG")
	}
	if err != nil {
		return nil, "", fmt.Errorf("cannot use the kubeconfig: %w; check --kubeconfig and --context", err)
	}
	config.Wrap(func(t http.RoundTripper) http.RoundTripper { return clusterTransport{t} })
	namespace := c.namespace
	if namespace == "" {
		if namespace, _, err = loaded.Namespace(); err != nil {
			return nil, "", fmt.Errorf("find the namespace of the context: %w", err)
		}
	}
	if c.allNamespaces {
		namespace = ""
	}
	return config, namespace, nil
}

// Open returns a client of the cluster, and the selected namespace ("" for all namespaces).
func (c *Cluster) Open() (kube.Client, string, error) {
	config, namespace, err := c.Load()
	if err != nil {
		return nil, "", err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, "", fmt.Errorf("register the kinds: %w", err)
		}
	}
	// Without a logger, controller-runtime prints a warning to standard error.
	ctrl.SetLogger(logr.Discard())
	k, err := kube.New(config, kube.Options{Scheme: scheme})
	if err != nil {
		return nil, "", fmt.Errorf("reach the cluster: %w", err)
	}
	return k, namespace, nil
}

// clusterTransport marks the errors of connections to a cluster with message.ClusterError.
type clusterTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t clusterTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		err = &message.ClusterError{Err: err}
	}
	return resp, err
}

// Listed returns the objects in a namespace. The type of list selects their kind.
func Listed[T any](ctx context.Context, k kube.Client, list kube.ObjectList, namespace string) ([]T, error) {
	if err := k.List(ctx, list, kube.InNamespace(namespace)); meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster does not serve the kinds of %s: install Vitrine first", v1alpha1.GroupVersion.Group)
	} else if err != nil {
		return nil, fmt.Errorf("list the objects: %w", err)
	}
	var all []T
	err := meta.EachListItem(list, func(o runtime.Object) error {
		all = append(all, o.(T))
		return nil
	})
	return all, err
}

// Suggest returns a function that completes names of objects in the selected namespace. The type of list selects the kind of the objects.
func (c *Cluster) Suggest(list kube.ObjectList) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		k, namespace, err := c.Open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		objects, err := Listed[kube.Object](cmd.Context(), k, list, namespace)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []cobra.Completion
		for _, o := range objects {
			names = append(names, o.GetName())
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
