package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
)

func manifestURL(name string) string { return "/v2/content/filters/" + filterUUID(name) + "/manifest" }

// withManifests lets a server know the manifests of all filters of the property shop, except that of the filter nothing. That of shuffled
// cannot be read.
func withManifests(o *httpapi.Options) {
	o.Manifest = func(_ context.Context, p library.PropertyID, owner library.Owner) (library.Manifest, error) {
		switch {
		case p != shop || owner.Name == "nothing":
			return library.Manifest{}, fmt.Errorf("%w: %s", library.ErrNotFound, owner)
		case owner.Name == "shuffled":
			return library.Manifest{}, fmt.Errorf("%w: connect to 10.1.2.3", library.ErrUnavailable)
		}
		return library.Manifest{
			Object: json.RawMessage(fmt.Sprintf(`{"kind":%q,"metadata":{"name":%q,"labels":{"team":"brand"}},"spec":{}}`, owner.Kind, owner.Name)),
			Path:   "content/" + owner.Name + ".yaml",
		}, nil
	}
}

// TestManifest checks that the manifest of a filter is shown only to READ-WRITE tokens of its property that allow ReadPrivate, and that a
// response without a manifest says why.
func TestManifest(t *testing.T) {
	a := newApp(t, withManifests)
	for _, action := range []library.Action{library.ManageFilters, library.ReadPrivate} {
		a.apply(tokenDefinition(shop, string(action), library.Token{ReadWrite: true, Allow: []library.Action{action}}))
		a.known(string(action))
	}
	whole := []string{`{"manifest":{"kind":"ContentFilter","metadata":{"name":"summer-wall","labels":{"team":"brand"}},"spec":{}},"source_path":"content/summer-wall.yaml","_links":{"self":{"href":"/base/v2/content/filters/`}
	none := []string{"brand", "summer-wall"}
	a.table(t, map[string]call{
		"a manifest":       {url: manifestURL("summer-wall"), token: "rw", contains: whole, want: map[string]string{"Cache-Control": "private, no-store"}},
		"by the number":    {url: fmt.Sprintf("/v2/content/filters/%d/manifest", filterID("summer-wall")), token: "rw", contains: []string{`"labels"`}},
		"with ReadPrivate": {url: manifestURL("summer-wall"), token: "ReadPrivate", contains: whole},
		"without it":       {url: manifestURL("summer-wall"), token: "ManageFilters", status: 403, contains: []string{"ReadPrivate"}, lacks: none},
		"read-only":        {url: manifestURL("summer-wall"), token: "ro", status: 403, lacks: none},
		"restricted":       {url: manifestURL("summer-wall"), token: "walled", status: 403, lacks: none},
		"another property": {url: manifestURL("summer-wall"), token: "other-rw", status: 404, lacks: none},
		"unknown filter":   {url: "/v2/content/filters/1/manifest", token: "rw", status: 404, contains: []string{"no filter"}},
		"made over HTTP":   {url: "/v2/content/filters/" + madeUUID + "/manifest", token: "rw", status: 404, contains: []string{"created over HTTP"}},
		"deleted":          {url: manifestURL("nothing"), token: "rw", status: 404, contains: []string{"no longer exists"}},
		"unreachable":      {url: manifestURL("shuffled"), token: "rw", status: 503, contains: []string{"from the cluster"}, lacks: []string{"10.1.2.3"}, want: map[string]string{"Retry-After": "5"}},
	})
	newApp(t).do(call{url: manifestURL("summer-wall"), token: "rw", status: 404, contains: []string{"without Kubernetes"}})
}
