package httpapi

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
	"github.com/vitrine-dev/vitrine/server/query"
)

// facetValues is the default number of values in the response of countValues. library.MaxFacetValues is the maximum.
const facetValues = 10

// facetValue is one value in a facets response.
type facetValue struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// countValues answers GET /v2/content/facets (extension) with the most frequent values of a field among the items that q, a filter, or both
// select. The request counts as an ad-hoc query.
func (s *Server) countValues(x *exchange) error {
	name, err := x.required("field")
	if err != nil {
		return err
	}
	if _, err := query.Countable(name, x.audience()); err != nil {
		return inParameter(err, "field")
	}
	size, err := x.number("size", facetValues, 1, library.MaxFacetValues)
	if err != nil {
		return err
	}
	prefix, err := x.optional("prefix")
	if err != nil {
		return err
	}
	r, err := x.selection()
	if err != nil {
		return err
	}
	var found *library.Facets
	err = x.budgeted(func(ctx context.Context) (err error) {
		found, err = s.lib.Facets(ctx, r, library.Facet{Field: name, Prefix: prefix, Limit: int(size)})
		return err
	})
	if err != nil {
		return hideStored(err, r)
	}
	values := make([]facetValue, len(found.Values))
	for i, v := range found.Values {
		values[i] = facetValue(v)
	}
	body := marshal(struct {
		Field  string       `json:"field"`
		Total  int64        `json:"total"`
		Values []facetValue `json:"values"`
		Links  links        `json:"_links"`
	}{found.Field, found.Total, values, links{self: x.linkHere()}})
	return x.showUntil(body, freshness{expires: found.Expires})
}

// selection returns a Read for the parameters q and filter. It selects the items that match the query, the stored filter, or both. A stored
// filter requires a READ-WRITE token.
func (x *exchange) selection() (library.Read, error) {
	r := x.seen(library.Read{})
	name, err := x.optional("filter")
	if err != nil {
		return r, err
	}
	if name == "" {
		if _, err := x.required("q"); err != nil {
			return r, err
		}
		r.Query, err = x.queryParam("q")
		return r, err
	}
	if !x.grant.rights.ReadWrite {
		return r, &problem{Type: problems.ClassRefused, Parameter: "filter", Detail: `the parameter "filter" needs a READ-WRITE token`}
	}
	if r.Where, err = x.queryParam("q"); err != nil {
		return r, err
	}
	f, err := x.filter(name)
	if err != nil {
		return r, err
	}
	r.Filter = &library.FilterRef{UUID: f.UUID}
	return r, nil
}
