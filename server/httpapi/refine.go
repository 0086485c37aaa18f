package httpapi

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// refine answers GET /v2/content/refine (extension). It adds, changes or removes one clause of a query, and sends the resulting query.
func (s *Server) refine(x *exchange) error {
	q, err := x.optional("q")
	if err != nil {
		return err
	}
	if _, err := x.query(q); err != nil {
		return inParameter(err, "q")
	}
	at, err := x.number("clause", -1, 0, query.MaxClauses)
	if err != nil {
		return err
	}
	not, err := x.flag("not")
	if err != nil {
		return err
	}
	node, err := x.choiceParams()
	if err != nil {
		return err
	}
	if node == nil && at < 0 {
		return missing("field")
	}
	occur := query.Must
	if not {
		occur = query.MustNot
	}
	var clauses []shownClause
	err = x.budgeted(func(context.Context) (err error) {
		if q, err = query.Refine(q, int(at), occur, node); err != nil {
			return inParameter(err, "q")
		}
		clauses = clausesOf(q, x.audience())
		return nil
	})
	if err != nil {
		return err
	}
	body := marshal(struct {
		Query   string        `json:"q"`
		Clauses []shownClause `json:"clauses"`
		Links   links         `json:"_links"`
	}{q, clauses, links{self: x.linkHere()}})
	return x.show(body)
}

// choiceParams returns the clause that the parameters field, value, from and to describe, or nil if field was not sent.
func (x *exchange) choiceParams() (query.Node, error) {
	name, err := x.optional("field")
	if err != nil || name == "" {
		return nil, err
	}
	field := query.Field{Name: query.AllTags}
	if name != query.AllTags {
		var ok bool
		if field, ok = query.Lookup(name); !ok {
			return nil, invalid("field", "must be the name of a field, or %s", query.AllTags)
		}
	}
	c := query.Choice{Field: field, Values: x.params["value"]}
	if len(c.Values) > maxListed {
		return nil, invalid("value", "was sent more than %d times", maxListed)
	}
	for _, v := range c.Values {
		if !utf8.ValidString(v) {
			return nil, invalid("value", "is not UTF-8")
		}
		if field.Name == query.AllTags && (!strings.Contains(v, ":") || item.ValidNamespace(tagOf(v).Namespace) != nil) {
			return nil, invalid("value", "must be a tag in the form namespace:key")
		}
	}
	from, err := x.bound("from")
	if err != nil {
		return nil, err
	}
	to, err := x.bound("to")
	if err != nil {
		return nil, err
	}
	c.From, c.To = from, to
	if ranged := !from.Open || !to.Open; ranged == (len(c.Values) > 0) || ranged && field.Name == query.AllTags {
		return nil, invalid("value", "must be sent with field, unless from or to is sent and the field is not %s", query.AllTags)
	}
	node := c.Node()
	if _, err := query.Check(node, x.audience()); err != nil {
		return nil, inParameter(err, "field")
	}
	return node, nil
}

// bound reads a bound of a range, which the range contains. It is open if the parameter was not sent.
func (x *exchange) bound(name string) (query.Bound, error) {
	text, err := x.optional(name)
	return query.Bound{Text: text, Open: text == "", Inclusive: true}, err
}
