package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/library"
)

// report writes the status if its meaning changed, and sends an event for a transition.
func (r *reconciler) report(ctx context.Context, before v1alpha1.Object, current *pass) error {
	o := current.object
	if equality.Semantic.DeepEqual(before, o) {
		r.known.note(o)
		return nil
	}
	if other := r.rivals.of(o.GetNamespace()); other != "" && r.kind.definition != library.KindToken {
		// Do not write the status. The status of the AccessToken already reports the conflict, which a user has to resolve.
		if r.kind.definition == library.KindProperty {
			r.Events.Eventf(o, nil, corev1.EventTypeWarning, secondOperatorReason, "Reconcile",
				"Two operators manage this namespace: one with store %s, which writes the statuses, and this one with store %s. Stop one of them.", other, r.Store)
		}
		return nil
	}
	if err := r.writeStatus(ctx, before, o); err != nil {
		return client.IgnoreNotFound(r.refused(ctx, before, current, err))
	}
	r.written.note(o)
	r.reported.Add(1)
	if was, c := verdict.Ready(before), verdict.Ready(o); was.Status != c.Status || was.Reason != c.Reason {
		level := corev1.EventTypeNormal
		if c.Status == "False" {
			level = corev1.EventTypeWarning
		}
		r.Events.Eventf(o, nil, level, c.Reason, "Reconcile", "%s", text.Cut(c.Message, 1000))
	}
	if a := current.announcement; a.reason != "" {
		r.Events.Eventf(o, nil, corev1.EventTypeNormal, a.reason, "Reconcile", "%s", a.message)
	}
	return nil
}

// refused handles a status patch that the API server rejected. If another writer has changed the conditions, refused requeues the object.
// Passes then read the object from the API server until the cache contains the change. Otherwise, refused returns err.
func (r *reconciler) refused(ctx context.Context, before v1alpha1.Object, current *pass, err error) error {
	if apierrors.IsNotFound(err) {
		return err
	}
	latest := r.kind.New()
	if failed := r.direct.Get(ctx, client.ObjectKeyFromObject(before), latest); failed != nil {
		return err
	}
	if equality.Semantic.DeepEqual(*before.StatusConditions(), *latest.StatusConditions()) {
		return err
	}
	r.written.note(latest)
	current.wake(r.Clock())
	return nil
}

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// writeStatus patches the status of an object on the API server so that the status in before becomes that in after. If the patch changes
// conditions, it fails unless the conditions on the API server still equal those in before. It thus never removes a condition that another
// writer has added. The patch also keeps all other changes by other writers. (Server-side apply could not remove a condition or a member
// that another field manager also owns, for example after a restore.)
func (s *Set) writeStatus(ctx context.Context, before, after v1alpha1.Object) error {
	was, err := statusOf(before)
	if err != nil {
		return err
	}
	is, err := statusOf(after)
	if err != nil {
		return err
	}
	var operations []operation
	if uid := before.GetUID(); uid != "" {
		operations = append(operations, operation{"test", "/metadata/uid", uid}) // this operation fails if the object was deleted and recreated
	}
	for _, member := range slices.Sorted(maps.Keys(is)) {
		if equality.Semantic.DeepEqual(was[member], is[member]) {
			continue
		}
		path := "/status/" + member
		if member == "conditions" {
			operations = append(operations, operation{"test", path, was[member]})
		}
		operations = append(operations, operation{"add", path, is[member]})
	}
	for _, member := range slices.Sorted(maps.Keys(was)) {
		if _, kept := is[member]; !kept {
			operations = append(operations, operation{Op: "remove", Path: "/status/" + member})
		}
	}
	s.known.note(after)
	content, err := json.Marshal(operations)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	if err := s.client.Status().Patch(ctx, after, client.RawPatch(types.JSONPatchType, content)); err != nil {
		return fmt.Errorf("patch the status: %w", err)
	}
	s.Metrics.written(after)
	return nil
}

// statusOf returns the status of an object as decoded JSON.
func statusOf(o v1alpha1.Object) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	status, _ := content["status"].(map[string]any)
	return status, nil
}
