package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// reached is a cluster that has answered.
type reached struct {
	client  client.Reader
	install string
}

// arrive records that a cluster has answered, until the returned function is called.
func (s *Supervisor) arrive(cfg *rest.Config, install string) (leave func(), err error) {
	c, err := client.New(cfg, client.Options{Scheme: runtime.NewScheme(), Mapper: newMapper()})
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	record := func(r *reached) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reached = r
	}
	record(&reached{c, install})
	return func() { record(nil) }, nil
}

// Manifest returns the object of a property that declares a definition. It reads the object from the API server: the caches contain it only
// in the replica that runs the controllers, and without the members of newer versions of the API. The error wraps library.ErrNotFound if
// there is no such object, and otherwise library.ErrUnavailable.
func (s *Supervisor) Manifest(ctx context.Context, p library.PropertyID, owner library.Owner) (library.Manifest, error) {
	s.mu.Lock()
	at := s.reached
	s.mu.Unlock()
	if at == nil {
		return library.Manifest{}, fmt.Errorf("%w: the API server does not answer", library.ErrUnavailable)
	}
	typed := v1alpha1.NewObject(owner.Kind.String())
	if typed == nil || owner.Install != at.install {
		return library.Manifest{}, fmt.Errorf("%w: the cluster has no %s", library.ErrNotFound, owner)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(owner.Kind.String()))
	err := at.client.Get(ctx, client.ObjectKey{Namespace: owner.Namespace, Name: owner.Name}, o)
	if apierrors.IsNotFound(err) {
		return library.Manifest{}, fmt.Errorf("%w: %w", library.ErrNotFound, err)
	}
	if err != nil {
		return library.Manifest{}, fmt.Errorf("%w: read the %s: %w", library.ErrUnavailable, owner, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return library.Manifest{}, fmt.Errorf("%w: read the %s: %w", library.ErrUnavailable, owner, err)
	}
	if translate.PropertyID(typed) != p { // a new object with the name of the one that declared the definition
		return library.Manifest{}, fmt.Errorf("%w: the %s belongs to another property", library.ErrNotFound, owner)
	}
	return translate.Manifest(o)
}
