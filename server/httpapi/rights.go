package httpapi

import (
	"errors"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// rightsRecord is the response of showRights.
type rightsRecord struct {
	// Class is READ-ONLY or READ-WRITE.
	Class string `json:"class"`
	// Actions contains the actions that the token permits.
	Actions []string `json:"actions"`
	// Filters contains the UUIDs of the filters that the token can list. It is nil if the token is not limited to certain filters.
	Filters []string `json:"filters,omitzero"`
	// Query is the query of the token's scope. It is omitted if there is none, or if the caller may not see it.
	Query string `json:"query,omitempty"`
	// Items is the number of items that exist for the token. It is omitted if the token is limited to certain filters.
	Items *int64 `json:"items,omitempty"`
	// Expires is the first instant at which the token value is refused, or nil if that is never.
	Expires *time.Time `json:"expires"`
	Links   links      `json:"_links"`
}

// showRights answers GET /v2/content/rights (extension) with the rights of the token that the caller sends.
func (s *Server) showRights(x *exchange) error {
	g := x.grant
	out := rightsRecord{Class: "READ-ONLY", Actions: g.actions(), Query: x.shownQuery(x.scope.String()), Links: links{self: x.linkHere()}}
	if g.rights.ReadWrite {
		out.Class = "READ-WRITE"
	}
	if !g.expires.IsZero() {
		out.Expires = &g.expires
	}
	if g.restricted() {
		out.Filters = []string{}
		for uuid := range g.filters {
			f, err := s.lib.Filter(g.property, library.FilterRef{UUID: uuid})
			if err != nil && !errors.Is(err, library.ErrNotFound) {
				return err
			}
			if f.Public {
				out.Filters = append(out.Filters, uuid)
			}
		}
		slices.Sort(out.Filters)
	} else {
		items, err := x.countItems(x.r.Context(), query.All{}, nil)
		if err != nil {
			return err
		}
		out.Items = &items
	}
	return x.showUntil(marshal(out), freshness{never: true})
}
