package plane

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// emptyNamespaces begins to look after namespaces that are being deleted, until stopNamespaces. What fails is tried
// again: a namespace that is stuck shows as Terminating, as it does anywhere.
func (p *Plane) emptyNamespaces(files credentials) error {
	client, err := newAdmin(p.URL, files)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	p.stopNamespaces = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		defer client.close()
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				client.finishNamespaces(ctx)
			}
		}
	}()
	return nil
}

// terminating is the part of a namespace that tells whether it is being deleted.
type terminating struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func (a *admin) finishNamespaces(ctx context.Context) {
	var list struct {
		Items []terminating `json:"items"`
	}
	if a.do(ctx, http.MethodGet, "/api/v1/namespaces", nil, &list) != nil {
		return
	}
	for _, ns := range list.Items {
		if ns.Status.Phase == "Terminating" && a.empty(ctx, ns.Metadata.Name) {
			a.finalize(ctx, ns.Metadata.Name)
		}
	}
}

// empty deletes what a namespace holds and reports whether nothing is left. Nothing is left for sure only when
// everything could be listed.
func (a *admin) empty(ctx context.Context, namespace string) bool {
	resources, err := a.namespaced(ctx)
	if err != nil {
		return false
	}
	left := false
	for _, r := range resources {
		path := r.base + "/namespaces/" + namespace + "/" + r.name
		var list struct {
			Items []struct{} `json:"items"`
		}
		if a.do(ctx, http.MethodGet, path+"?limit=1", nil, &list) != nil {
			left = true
			continue
		}
		if len(list.Items) > 0 {
			left = true // the next round sees whether it is gone: an object may have finalizers
			_ = a.do(ctx, http.MethodDelete, path, nil, nil)
		}
	}
	return !left
}

// finalize lets a namespace go.
func (a *admin) finalize(ctx context.Context, name string) {
	var namespace map[string]any
	if a.do(ctx, http.MethodGet, "/api/v1/namespaces/"+name, nil, &namespace) != nil {
		return
	}
	namespace["spec"] = map[string]any{}
	_ = a.do(ctx, http.MethodPut, "/api/v1/namespaces/"+name+"/finalize", namespace, nil)
}

// resource is a collection that a namespace can hold, such as secrets below /api/v1.
type resource struct{ base, name string }

// namespaced lists the collections of the API server that can be listed and deleted.
func (a *admin) namespaced(ctx context.Context) ([]resource, error) {
	var groups struct {
		Groups []struct {
			Preferred struct {
				GroupVersion string `json:"groupVersion"`
			} `json:"preferredVersion"`
		} `json:"groups"`
	}
	if err := a.do(ctx, http.MethodGet, "/apis", nil, &groups); err != nil {
		return nil, err
	}
	bases := []string{"/api/v1"}
	for _, g := range groups.Groups {
		bases = append(bases, "/apis/"+g.Preferred.GroupVersion)
	}
	var out []resource
	for _, base := range bases {
		var list struct {
			Resources []struct {
				Name       string   `json:"name"`
				Namespaced bool     `json:"namespaced"`
				Verbs      []string `json:"verbs"`
			} `json:"resources"`
		}
		if err := a.do(ctx, http.MethodGet, base, nil, &list); err != nil {
			return nil, err
		}
		for _, r := range list.Resources {
			if r.Namespaced && !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "deletecollection") && slices.Contains(r.Verbs, "list") {
				out = append(out, resource{base, r.Name})
			}
		}
	}
	return out, nil
}
