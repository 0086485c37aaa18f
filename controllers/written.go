package controllers

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/server/library"
)

// written remembers the version that each object had after our own last write, until the cache shows it. Without it, a round
// that follows close upon another would compare with the status of before: what equals that older status would not be
// written, and the object would show the wrong one for as long as nothing else happens to it. (The cached client's own
// read-your-writes is experimental and does not work with several namespaces.)
type written struct {
	mu       sync.Mutex
	versions map[writtenKey]string
}

// writtenKey names an object; kind 0 is a Secret.
type writtenKey struct {
	kind library.Kind
	name types.NamespacedName
}

func newWritten() *written { return &written{versions: map[writtenKey]string{}} }

// note remembers o as a write returned it.
func (w *written) note(kind library.Kind, o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions[writtenKey{kind, client.ObjectKeyFromObject(o)}] = o.GetResourceVersion()
}

// forget is for an object that is gone.
func (w *written) forget(kind library.Kind, name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, writtenKey{kind, name})
}

// stale reports whether o, from the cache, is older than our own last write.
func (w *written) stale(kind library.Kind, o client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := writtenKey{kind, client.ObjectKeyFromObject(o)}
	last, ok := w.versions[key]
	if !ok {
		return false
	}
	// Versions that cannot be compared are taken for older: the API server knows.
	if order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), last); err != nil || order < 0 {
		return true
	}
	delete(w.versions, key)
	return false
}

// get reads an object from the cache, or from the API server while the cache is behind our own last write.
func (e *environment) get(ctx context.Context, kind library.Kind, name types.NamespacedName, o client.Object) error {
	if err := e.client.Get(ctx, name, o); err != nil {
		return err
	}
	if !e.written.stale(kind, o) {
		return nil
	}
	if err := e.direct.Get(ctx, name, o); err != nil {
		return fmt.Errorf("read past the cache: %w", err)
	}
	return nil
}
