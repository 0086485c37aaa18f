package httpapi

import (
	"context"
	"math"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// explanation is one clause of an explain response.
type explanation struct {
	Clause   string        `json:"clause"`
	Occur    string        `json:"occur"`
	Matched  bool          `json:"matched"`
	Score    float64       `json:"score"`
	Detail   string        `json:"detail"`
	Children []explanation `json:"children"`
}

func explanationOf(e library.Explanation) explanation {
	out := explanation{
		Clause: e.Clause, Occur: e.Occur, Matched: e.Matched, Score: e.Score, Detail: e.Detail,
		Children: make([]explanation, len(e.Children)),
	}
	if math.IsInf(e.Score, 0) || math.IsNaN(e.Score) {
		out.Score = math.MaxFloat32 // boosts can produce infinity, which JSON does not have
	}
	for i, c := range e.Children {
		out.Children[i] = explanationOf(c)
	}
	return out
}

// explainFilter answers GET /v2/content/filters/{filter_uuid}/explain (extension).
func (s *Server) explainFilter(x *exchange) error {
	id, err := x.idParam("ugc_id")
	if err != nil {
		return err
	}
	f, err := x.filter(x.r.PathValue("filter_uuid"))
	if err != nil {
		return err
	}
	if _, err := x.shownFilter(f.Filter); err != nil {
		return err
	}
	r := library.Read{Filter: &library.FilterRef{UUID: f.UUID}}
	if r.Where, err = x.queryParam("additional_query"); err != nil {
		return err
	}
	return x.explain(r, id)
}

// explainQuery answers GET /v2/content/items/explain (extension).
func (s *Server) explainQuery(x *exchange) error {
	id, err := x.idParam("ugc_id")
	if err != nil {
		return err
	}
	if _, err := x.required("q"); err != nil {
		return err
	}
	var r library.Read
	if r.Query, err = x.queryParam("q"); err != nil {
		return err
	}
	return x.explain(r, id)
}

// explain answers with an explanation of why an item does or does not match a listing. The request counts as an ad-hoc query.
func (x *exchange) explain(r library.Read, id item.ID) error {
	r.Property, r.Audience = x.grant.property, x.audience()
	var e *library.Explanation
	err := x.budgeted(func(ctx context.Context) (err error) {
		if err = x.inScope(ctx, id); err == nil {
			e, err = x.server.lib.Explain(ctx, r, id)
		}
		return err
	})
	if err != nil {
		return orNoItem(err, id)
	}
	return x.show(marshal(struct {
		ID      item.ID     `json:"ugc_id"`
		Matched bool        `json:"matched"`
		Explain explanation `json:"explanation"`
	}{id, e.Matched, explanationOf(*e)}))
}
