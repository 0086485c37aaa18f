package cluster

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
)

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	return scheme, nil
}

// newMapper returns a mapper with the resources of every kind that the operator reads or writes. It does not query the API server: a mapper
// that does sends requests without a context, which cannot be canceled if the API server never responds.
func newMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	m.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	listed := []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Secret")}
	for _, k := range v1alpha1.Kinds() {
		listed = append(listed, v1alpha1.GroupVersion.WithKind(k.Name))
	}
	for _, single := range listed {
		plural, singular := meta.UnsafeGuessKindToResource(single)
		// The cache also looks up the resource of the list kind.
		for _, kind := range []string{single.Kind, single.Kind + "List"} {
			m.AddSpecific(single.GroupVersion().WithKind(kind), plural, singular, meta.RESTScopeNamespace)
		}
	}
	return m
}

// workers is the number of workers for each kind.
const workers = 8

// newManager creates a manager without controllers, and returns the watches of its caches.
func newManager(cfg *rest.Config, o Options) (manager.Manager, *watches, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, nil, err
	}
	labelled, err := labels.NewRequirement(tokens.Label, selection.Exists, nil)
	if err != nil {
		return nil, nil, err
	}
	w := &watches{}
	caches := cache.Options{
		NewInformer: w.newInformer,
		ByObject:    map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: labels.NewSelector().Add(*labelled)}},
	}
	if len(o.Namespaces) > 0 {
		caches.DefaultNamespaces = map[string]cache.Config{}
		for _, ns := range o.Namespaces {
			caches.DefaultNamespaces[ns] = cache.Config{}
		}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                 scheme,
		MapperProvider:         func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return newMapper(), nil },
		Cache:                  caches,
		Logger:                 o.Logger,
		Metrics:                metricsserver.Options{BindAddress: "0"}, // the process itself serves metrics and probes
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{MaxConcurrentReconciles: workers},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("create a manager: %w", err)
	}
	return mgr, w, nil
}
