package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
)

// manifestRecord is the response of showManifest.
type manifestRecord struct {
	Manifest json.RawMessage `json:"manifest"`
	// SourcePath is the path of the file in the repository. It is omitted if the object does not specify it.
	SourcePath string `json:"source_path,omitempty"`
	Links      links  `json:"_links"`
}

// showManifest answers GET /v2/content/filters/{filter_uuid}/manifest (extension). It needs ReadPrivate, because the newest spec can use
// private fields, even if the query that is served does not.
func (s *Server) showManifest(x *exchange) error {
	f, err := x.filter(x.r.PathValue("filter_uuid"))
	if err != nil {
		return err
	}
	switch {
	case f.Owner.IsHTTP():
		return absent("the filter has no manifest, because it was created over HTTP")
	case x.foreign(f.Owner.Namespace):
		return absent("the manifest of the filter is in another namespace than that of the token")
	case s.options.Manifest == nil:
		return absent("this server cannot read manifests, because it runs without Kubernetes")
	}
	var m library.Manifest
	err = x.budgeted(func(ctx context.Context) (err error) {
		m, err = s.options.Manifest(ctx, x.grant.property, f.Owner)
		return err
	})
	switch {
	case errors.Is(err, library.ErrNotFound):
		return absent("the filter is still served, but its manifest no longer exists")
	case errors.Is(err, library.ErrUnavailable):
		s.options.Logger.WarnContext(x.r.Context(), "cannot read a manifest", "request", x.id, "error", err.Error())
		return &problem{Type: problems.Unavailable, Detail: "the server cannot read manifests from the cluster at the moment", retryAfter: 5 * time.Second}
	case err != nil:
		return err
	}
	return x.show(marshal(manifestRecord{m.Object, m.Path, links{self: x.linkHere()}}))
}
