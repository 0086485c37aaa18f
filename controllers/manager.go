package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// identityNamespace is the namespace whose UID is the identity of a cluster: it is there from the start and cannot be
// deleted.
const identityNamespace = "kube-system"

// identifyTimeout is how long the API server may take to say what it is.
const identifyTimeout = 30 * time.Second

// filtersIndex finds AccessTokens by the ContentFilters that they name.
const filtersIndex = "spec.filters"

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
		name := k.library.String()
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
func (e *environment) sameCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	install, err := clusterOf(ctx, e.direct)
	if err != nil {
		return err
	}
	if install != e.install {
		return errOtherCluster
	}
	return nil
}

// sameHistory fails with errWentBack when the data of the API server went back in time.
func (e *environment) sameHistory(ctx context.Context) error {
	in := metav1.NamespaceAll
	if len(e.Namespaces) > 0 {
		in = e.Namespaces[0]
	}
	return e.versions.advance(ctx, e.direct, in)
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	return scheme, nil
}

// newMapper knows the resources of every kind that is read or written here. Asking the API server for them instead would
// be a call without a context: one that is never answered could not be ended.
func newMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	m.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	m.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	for _, k := range kinds() {
		single := v1alpha1.GroupVersion.WithKind(k.library.String())
		plural, singular := meta.UnsafeGuessKindToResource(single)
		// The cache asks by the kind of the list.
		for _, kind := range []string{single.Kind, single.Kind + "List"} {
			m.AddSpecific(v1alpha1.GroupVersion.WithKind(kind), plural, singular, meta.RESTScopeNamespace)
		}
	}
	return m
}

// newManager makes a manager with the five reconcilers. gate is closed when the bulk load is in.
func newManager(cfg *rest.Config, o Options, m *metrics, h *holds, install string, gate <-chan struct{}) (manager.Manager, *environment, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, nil, err
	}
	labelled, err := labels.NewRequirement(tokens.Label, selection.Exists, nil)
	if err != nil {
		return nil, nil, err
	}
	seen := &versions{}
	caches := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		NewInformer:      seen.newInformer,
		ByObject:         map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: labels.NewSelector().Add(*labelled)}},
	}
	if len(o.Namespaces) > 0 {
		caches.DefaultNamespaces = map[string]cache.Config{}
		for _, ns := range o.Namespaces {
			caches.DefaultNamespaces[ns] = cache.Config{}
		}
	}
	skipNames := true // a manager is made again after every failure, with the same controllers
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                 scheme,
		MapperProvider:         func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return newMapper(), nil },
		Cache:                  caches,
		Logger:                 o.Logger,
		Metrics:                metricsserver.Options{BindAddress: "0"}, // metrics and probes are the process's own
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: &skipNames, MaxConcurrentReconciles: o.Concurrency},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("make a manager: %w", err)
	}
	e := &environment{
		Options: o, metrics: m, client: mgr.GetClient(), direct: mgr.GetAPIReader(),
		install: install, gate: gate, waiters: newWaiters(), queues: newQueues(), written: newWritten(), rivals: newRivals(), versions: seen,
		guards: map[library.Kind]*guard{}, holds: h,
	}
	index := mgr.GetFieldIndexer()
	if err := index.IndexField(context.Background(), &v1alpha1.AccessToken{}, filtersIndex, func(o client.Object) []string {
		return o.(*v1alpha1.AccessToken).Spec.Filters
	}); err != nil {
		return nil, nil, fmt.Errorf("index AccessTokens by their filters: %w", err)
	}
	for _, k := range kinds() {
		g := newGuard(func(ctx context.Context) (crd, error) { return e.mayRemove(ctx, k) })
		e.guards[k.library] = g
		b := ctrl.NewControllerManagedBy(mgr).
			Named(strings.ToLower(k.library.String())).
			For(k.New(), builder.WithPredicates(predicate.GenerationChangedPredicate{}, g.sight())).
			WatchesRawSource(e.queues.source(k.library)).
			WithOptions(controller.Options{SkipNameValidation: &skipNames})
		if k.library == library.KindToken {
			b = b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(tokenOfSecret)).
				Watches(&v1alpha1.ContentFilter{}, handler.EnqueueRequestsFromMapFunc(e.tokensOfFilter), builder.WithPredicates(adoption())).
				Watches(&v1alpha1.AccessToken{}, contested())
		}
		if err := b.Complete(&reconciler{environment: e, kind: k}); err != nil {
			return nil, nil, fmt.Errorf("make the %s controller: %w", k.library, err)
		}
	}
	return mgr, e, nil
}

// tokenOfSecret finds the AccessToken that a labelled Secret belongs to: its controller, or the one that the label names.
func tokenOfSecret(_ context.Context, s client.Object) []reconcile.Request {
	name := s.GetLabels()[tokens.Label]
	if c := metav1.GetControllerOf(s); c != nil && c.Kind == v1alpha1.AccessTokenKind {
		name = c.Name
	}
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: s.GetNamespace(), Name: name}}}
}

// tokensOfFilter finds the AccessTokens that name a ContentFilter.
func (e *environment) tokensOfFilter(ctx context.Context, f client.Object) []reconcile.Request {
	list := &v1alpha1.AccessTokenList{}
	err := e.client.List(ctx, list, client.InNamespace(f.GetNamespace()), client.MatchingFieldsSelector{
		Selector: fields.OneTermEqualSelector(filtersIndex, f.GetName()),
	})
	if err != nil {
		e.Logger.Error(err, "could not find the tokens of a filter", "filter", client.ObjectKeyFromObject(f))
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}

// adoption passes the events by which a ContentFilter can come to another UUID: those of filters that adopt.
func adoption() predicate.Predicate {
	adopts := func(o client.Object) bool { return o.(*v1alpha1.ContentFilter).Spec.Adopt != nil }
	uuid := func(o client.Object) string { return o.(*v1alpha1.ContentFilter).Status.UUID }
	return predicate.Funcs{
		CreateFunc:  func(ev event.CreateEvent) bool { return adopts(ev.Object) },
		DeleteFunc:  func(ev event.DeleteEvent) bool { return adopts(ev.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(ev event.UpdateEvent) bool { return uuid(ev.ObjectOld) != uuid(ev.ObjectNew) },
	}
}

func servesKind(name string) func(r metav1.APIResource) bool {
	return func(r metav1.APIResource) bool { return r.Kind == name }
}
