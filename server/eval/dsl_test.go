package eval_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// The queries in the golden file are in OpenSearch's query DSL, so that the OpenSearch node receives exactly what the file contains.
// decodeDSL converts a query into a plan. It supports only the part of the DSL that plans can express.

type dslQuery map[string]json.RawMessage

// testFields are the fields of the golden corpus.
var testFields = map[string]query.Type{
	"content.text":                query.Text,
	"content.author.profile.name": query.Text,
	"approval_status":             query.Keyword,
	"tags.vibe.key":               query.Keyword,
	"featured":                    query.Boolean,
	"campaign":                    query.Long,
	"latitude":                    query.Double,
	"created_on":                  query.Date,
}

func fieldNamed(name string) query.Field { return query.Field{Name: name, Type: testFields[name]} }

// dslLeaf is the body of a leaf query on one field.
type dslLeaf struct {
	Value     any      `json:"value"`
	Query     string   `json:"query"`
	Slop      int      `json:"slop"`
	Fuzziness string   `json:"fuzziness"`
	Boost     *float32 `json:"boost"`
	GTE       any      `json:"gte"`
	GT        any      `json:"gt"`
	LTE       any      `json:"lte"`
	LT        any      `json:"lt"`
}

func decodeDSL(raw json.RawMessage) (plan.Node, error) {
	var q dslQuery
	if err := json.Unmarshal(raw, &q); err != nil {
		return nil, err
	}
	if len(q) != 1 {
		return nil, fmt.Errorf("a query has one key: %s", raw)
	}
	for kind, body := range q {
		switch kind {
		case "match_all":
			return plan.All{}, nil
		case "match_none":
			return plan.None{}, nil
		case "bool":
			return decodeBool(body)
		case "dis_max":
			var b struct{ Queries []json.RawMessage }
			if err := json.Unmarshal(body, &b); err != nil {
				return nil, err
			}
			nodes, err := decodeAll(b.Queries)
			return plan.DisMax{Nodes: nodes}, err
		case "constant_score":
			var b struct {
				Filter json.RawMessage
				Boost  float32
			}
			if err := json.Unmarshal(body, &b); err != nil {
				return nil, err
			}
			inner, err := decodeDSL(b.Filter)
			return plan.Const{Node: inner, Score: b.Boost}, err
		case "exists":
			var b struct{ Field string }
			err := json.Unmarshal(body, &b)
			return plan.Exists{Field: fieldNamed(b.Field)}, err
		}
		var fields map[string]dslLeaf
		if err := json.Unmarshal(body, &fields); err != nil {
			return nil, err
		}
		for name, leaf := range fields {
			n, err := leaf.node(kind, fieldNamed(name))
			if err == nil && leaf.Boost != nil {
				n = plan.Boost{Node: n, Factor: *leaf.Boost}
			}
			return n, err
		}
	}
	return nil, fmt.Errorf("empty query: %s", raw)
}

func decodeAll(raws []json.RawMessage) ([]plan.Node, error) {
	var nodes []plan.Node
	for _, raw := range raws {
		n, err := decodeDSL(raw)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func decodeBool(body json.RawMessage) (plan.Node, error) {
	var b struct {
		Must, Should []json.RawMessage
		MustNot      []json.RawMessage `json:"must_not"`
		Boost        *float32
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, err
	}
	var out plan.Bool
	var err error
	if out.Must, err = decodeAll(b.Must); err != nil {
		return nil, err
	}
	if out.Should, err = decodeAll(b.Should); err != nil {
		return nil, err
	}
	if out.MustNot, err = decodeAll(b.MustNot); err != nil {
		return nil, err
	}
	if len(out.Must)+len(out.Should) == 0 {
		out.Must = []plan.Node{plan.Const{Node: plan.All{}}}
	}
	if b.Boost != nil {
		return plan.Boost{Node: out, Factor: *b.Boost}, nil
	}
	return out, nil
}

func (l dslLeaf) node(kind string, f query.Field) (plan.Node, error) {
	text := fmt.Sprint(l.Value)
	switch kind {
	case "term":
		return plan.Term{Field: f, Text: text}, nil
	case "match_phrase":
		p := plan.Phrase{Field: f, Slop: l.Slop}
		for _, t := range analysis.Analyze(l.Query) {
			p.Words = append(p.Words, plan.Word{Text: t.Text, Position: t.Position})
		}
		return p, nil
	case "fuzzy":
		edits, err := strconv.Atoi(l.Fuzziness)
		return plan.Fuzzy{Field: f, Text: text, Edits: edits, MaxExpansions: 50}, err
	case "prefix":
		return plan.Pattern{Field: f, Automaton: automaton.Prefix(text), Source: text + "*"}, nil
	case "wildcard":
		a, err := automaton.Wildcard(text)
		return plan.Pattern{Field: f, Automaton: a, Source: text}, err
	case "regexp":
		a, err := automaton.Regexp(text)
		return plan.Pattern{Field: f, Automaton: a, Source: "/" + text + "/"}, err
	case "range":
		return l.rangeNode(f)
	}
	return nil, fmt.Errorf("unknown query %q", kind)
}

func (l dslLeaf) rangeNode(f query.Field) (plan.Node, error) {
	switch f.Type {
	case query.Text, query.Keyword:
		r := plan.TermRange{Field: f, LoOpen: l.GTE == nil && l.GT == nil, HiOpen: l.LTE == nil && l.LT == nil}
		r.LoIncl, r.HiIncl = l.GTE != nil, l.LTE != nil
		r.Lo, r.Hi = firstText(l.GTE, l.GT), firstText(l.LTE, l.LT)
		return r, nil
	case query.Double:
		r := plan.FloatRange{Field: f, Lo: math.Inf(-1), Hi: math.Inf(1)}
		if l.GTE != nil {
			r.Lo = l.GTE.(float64)
		}
		if l.LTE != nil {
			r.Hi = l.LTE.(float64)
		}
		return r, nil
	}
	r := plan.IntRange{Field: f, Lo: math.MinInt64, Hi: math.MaxInt64}
	bound := func(v any, to *int64, step int64) {
		if x, ok := v.(float64); ok {
			*to = int64(x) + step
		}
	}
	bound(l.GTE, &r.Lo, 0)
	bound(l.GT, &r.Lo, 1)
	bound(l.LTE, &r.Hi, 0)
	bound(l.LT, &r.Hi, -1)
	return r, nil
}

func firstText(values ...any) string {
	for _, v := range values {
		if s, ok := v.(string); ok {
			return s
		}
	}
	return ""
}
