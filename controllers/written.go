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

// written remembers the version that each object had after our own last write, until the cache shows it. Without it, a pass that
// follows another closely would compare with an older status: what equals that would not be written, and the object would show a
// wrong status until something else happens to it. (The read-your-writes of the cached client is experimental and does not work with
// several namespaces.)
type written struct {
	mu       sync.Mutex
	versions map[writtenKey]string
}

// writtenKey names an object.
type writtenKey struct {
	kind reflect.Type
	name types.NamespacedName
}

func keyOf(o client.Object) writtenKey {
	return writtenKey{reflect.TypeOf(o), client.ObjectKeyFromObject(o)}
}

func newWritten() *written { return &written{versions: map[writtenKey]string{}} }

// note remembers o as a write returned it.
func (w *written) note(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions[keyOf(o)] = o.GetResourceVersion()
}

// forget drops what is noted of an object that no longer exists.
func (w *written) forget(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, keyOf(o))
}

// stale reports whether o, from the cache, is older than our own last write.
func (w *written) stale(o client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.versions[keyOf(o)]
	if !ok {
		return false
	}
	// A version that cannot be compared counts as older: the API server knows.
	if order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), last); err != nil || order < 0 {
		return true
	}
	delete(w.versions, keyOf(o))
	return false
}

// get reads an object from the cache, or from the API server while the cache is behind our own last write.
func (s *Set) get(ctx context.Context, name types.NamespacedName, o client.Object) error {
	if err := s.client.Get(ctx, name, o); err != nil {
		return err
	}
	if !s.written.stale(o) {
		return nil
	}
	if err := s.direct.Get(ctx, name, o); err != nil {
		return fmt.Errorf("read past the cache: %w", err)
	}
	return nil
}
