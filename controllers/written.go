package controllers

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// written records the resource version of each object after this operator's last write, until the cache shows that version. Without this
// record, a pass soon after another pass would compare its new status with an outdated status from the cache. If these two were equal, the
// pass would write nothing, and the object would keep the wrong status of the other pass until its next change. (The read-your-writes of
// the cached client is experimental and does not work with several namespaces.)
type written struct {
	mu       sync.Mutex
	versions map[writtenKey]string
}

// writtenKey identifies an object.
type writtenKey struct {
	kind reflect.Type
	name types.NamespacedName
}

func keyOf(o client.Object) writtenKey {
	return writtenKey{reflect.TypeOf(o), client.ObjectKeyFromObject(o)}
}

func newWritten() *written { return &written{versions: map[writtenKey]string{}} }

// note records the resource version of o after a write.
func (w *written) note(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions[keyOf(o)] = o.GetResourceVersion()
}

// forget drops the record of an object that no longer exists.
func (w *written) forget(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, keyOf(o))
}

// stale reports whether o, read from the cache, is older than this operator's last write.
func (w *written) stale(o client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.versions[keyOf(o)]
	if !ok {
		return false
	}
	// If the versions cannot be compared, o counts as outdated.
	if order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), last); err != nil || order < 0 {
		return true
	}
	delete(w.versions, keyOf(o))
	return false
}

// get reads an object from the cache, or from the API server if the cache is older than this operator's last write.
func (s *Set) get(ctx context.Context, name types.NamespacedName, o client.Object) error {
	if err := s.client.Get(ctx, name, o); err != nil {
		return err
	}
	if !s.written.stale(o) {
		return nil
	}
	if err := s.direct.Get(ctx, name, o); err != nil {
		return fmt.Errorf("read from the API server: %w", err)
	}
	return nil
}
