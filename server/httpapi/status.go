package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// definitionCounts contains the numbers of served definitions of a property, by kind.
type definitionCounts struct {
	Filters int `json:"filters"`
	Tags    int `json:"tags"`
	Units   int `json:"units"`
	Tokens  int `json:"tokens"`
}

// scopeRecord is the scope of a token in a response.
type scopeRecord struct {
	// Query is the query of the scope. It is omitted if there is none, or if it uses private fields that the caller may not read.
	// QueryHidden tells the second case from the first.
	Query       string `json:"query,omitempty"`
	QueryHidden bool   `json:"query_hidden,omitempty"`
}

// scopeRecord returns the record of a scope. text is its query, or "" if there is none.
func (x *exchange) scopeRecord(text string) scopeRecord {
	shown := x.shownQuery(text)
	return scopeRecord{shown, shown != text}
}

// tokenRecord is an access token in a response, without its values.
type tokenRecord struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Class     string `json:"class"`
	// FiltersOnly is true for a token that may only list certain filters.
	FiltersOnly bool `json:"filters_only"`
	scopeRecord
	// Allow contains the actions to which the token is limited.
	Allow []library.Action `json:"allow,omitzero"`
	// Expires is the latest expiry time among the values of the token, or nil if one of them never expires.
	Expires *time.Time `json:"expires"`
}

// rejectionRecord is an object whose condition Ready is False.
type rejectionRecord struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}

// statusRecord is the response of showStatus.
type statusRecord struct {
	Property    library.PropertyID `json:"property"`
	Version     string             `json:"version"`
	Items       int64              `json:"items"`
	Definitions definitionCounts   `json:"definitions"`
	// StoreBytes and MemoryBytes are sizes of the whole server. They are omitted if the library does not measure them. They are also
	// omitted if the server has other properties or the token has a scope, because they would reveal something about other items.
	StoreBytes  int64 `json:"store_bytes,omitempty"`
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// ReadOnlyScope is the scope of the READ-ONLY tokens without a query of their own. It is omitted if there is none.
	ReadOnlyScope scopeRecord   `json:"read_only_scope,omitzero"`
	Tokens        []tokenRecord `json:"tokens"`
	// Source is the Git repository with the manifests, or nil if the Property names none or the token is of another namespace.
	Source *library.Source `json:"source,omitempty"`
	// RejectionReason is Required if a request that rejects an item must contain a reason. Otherwise, it is omitted.
	RejectionReason string `json:"rejection_reason,omitempty"`
	// Rejected is nil if this server does not know the rejected objects.
	Rejected *[]rejectionRecord `json:"rejected,omitempty"`
	Links    links              `json:"_links"`
}

// showStatus answers GET /v2/content/status (extension).
func (s *Server) showStatus(x *exchange) error {
	var out *statusRecord
	err := x.budgeted(func(ctx context.Context) (err error) {
		out, err = x.propertyStatus(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return x.show(marshal(out))
}

// propertyStatus returns the status of the caller's property.
func (x *exchange) propertyStatus(ctx context.Context) (*statusRecord, error) {
	s, p := x.server, x.grant.property
	state := s.lib.State(ctx)
	items, known := state.PropertyItems[p]
	if !known && !state.Ready {
		return nil, fmt.Errorf("%w: %s", library.ErrUnavailable, state.Problem)
	}
	out := &statusRecord{
		Property: p, Version: s.options.Version, Items: items, ReadOnlyScope: x.scopeRecord(x.settings.ReadOnlyQuery),
		Tokens: x.tokenRecords(), Links: links{self: x.linkHere()},
	}
	if !x.foreign(p.Namespace()) {
		out.Source = x.settings.Source
	}
	if x.settings.RejectionReason {
		out.RejectionReason = "Required"
	}
	others := len(state.PropertyItems)
	if known {
		others--
	}
	if x.scope != nil {
		items, err := x.countItems(ctx, query.All{}, nil)
		if err != nil {
			return nil, err
		}
		out.Items = items
	} else if others == 0 && len(s.lib.Properties()) == 1 {
		out.StoreBytes, out.MemoryBytes = state.DiskBytes, state.Sizes.Heap+state.Sizes.Caches+state.Sizes.Store
	}
	out.Definitions.Tokens = len(out.Tokens)
	for kind, count := range map[library.Kind]*int{
		library.KindFilter: &out.Definitions.Filters, library.KindTag: &out.Definitions.Tags, library.KindUnit: &out.Definitions.Units,
	} {
		defs, err := s.lib.Definitions(p, kind)
		if err != nil {
			return nil, err
		}
		*count = len(defs)
	}
	if s.options.Rejected != nil {
		rejected, known, err := s.options.Rejected(ctx, p)
		if err != nil {
			return nil, err
		}
		if known {
			records := []rejectionRecord{}
			for _, r := range rejected {
				if x.foreign(r.Namespace) {
					continue
				}
				if x.audience() == query.Public {
					r.Message = "the message may quote private fields: read it with a token that allows ReadPrivate"
				}
				records = append(records, rejectionRecord(r))
			}
			slices.SortStableFunc(records, func(a, b rejectionRecord) int {
				return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
			})
			out.Rejected = &records
		}
	}
	return out, nil
}

// tokenRecords lists the tokens of the caller's property by namespace and name. It omits tokens without a valid value, and tokens that
// belong to no object.
func (x *exchange) tokenRecords() []tokenRecord {
	p, now := x.grant.property, x.server.options.Clock()
	all := []tokenRecord{}
	known := x.server.tokens.current.Load()
	if known == nil {
		return all
	}
	at := map[library.Owner]int{}
	for _, g := range known.ofValues {
		if g.property != p || g.expired(now) || g.owner.Internal() || x.foreign(g.owner.Namespace) {
			continue
		}
		i, seen := at[g.owner]
		if !seen {
			i, at[g.owner] = len(all), len(all)
			all = append(all, tokenRecord{
				Namespace: g.owner.Namespace, Name: g.owner.Name, Class: "READ-ONLY", FiltersOnly: g.restricted(),
				scopeRecord: x.scopeRecord(x.server.scopes.scopeText(g, x.settings)), Allow: g.rights.Allow,
			})
			if g.rights.ReadWrite {
				all[i].Class = "READ-WRITE"
			}
			all[i].Expires = new(g.expires)
		} else if e := all[i].Expires; e != nil && g.expires.After(*e) {
			all[i].Expires = new(g.expires)
		}
		if g.expires.IsZero() {
			all[i].Expires = nil
		}
	}
	slices.SortFunc(all, func(a, b tokenRecord) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}
