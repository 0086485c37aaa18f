package httpapi

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
	"github.com/vitrine-dev/vitrine/server/query"
)

// These are the page sizes of the deprecated collection (specification, Limits).
const (
	collectionPageSize    = 8
	maxCollectionPageSize = 100
)

// successor sets a Link header that names the replacement of a deprecated endpoint (RFC 5829).
func (x *exchange) successor(path string) {
	x.Header().Add("Link", fmt.Sprintf("<%s>; rel=%q", x.linkTo(path), "successor-version"))
}

// showItem answers GET /v1/ugc/{ugc_id}/ (specification, Deprecated endpoints).
func (s *Server) showItem(x *exchange) error {
	x.successor("/v2/content/items")
	return x.showOne("ugc_id")
}

// listCollection answers GET /v1/ugc/collections/{collection_id}/ with the items of one campaign.
func (s *Server) listCollection(x *exchange) error {
	campaign, err := x.pathNumber("collection_id")
	if err != nil {
		return err
	}
	if campaign < 0 {
		return absent("no campaign can have this id: ids of campaigns are from 0 to 2^53-1")
	}
	parts, err := x.collectionParams()
	if err != nil {
		return err
	}
	l := listing{name: itemMember, defaultSize: collectionPageSize, maxSize: maxCollectionPageSize}
	if l.read.Order, err = x.collectionOrder(); err != nil {
		return err
	}
	if l.read.Seed, err = x.seed(false); err != nil {
		return err
	}
	l.random = l.read.Order.Random()
	l.read.Query = query.And(append([]query.Node{query.FieldTerm("campaign", strconv.FormatInt(campaign, 10))}, parts...)...)
	x.successor("/v2/content/filters")
	return x.list(l)
}

// collectionOrder reads the parameter order.
func (x *exchange) collectionOrder() (query.Order, error) {
	text, err := x.optional("order")
	if err != nil {
		return nil, err
	}
	switch text {
	case "", "random_sort":
		return query.Order{{Field: query.RandomKey}}, nil
	case "date_asc":
		return query.Order{{Field: "created_on"}}, nil
	}
	return nil, invalid("order", `must be "random_sort" or "date_asc"`)
}

// collectionParams translates the parameters of the collection into query trees. It builds the trees with constructors, so that the values
// are never parsed as syntax.
func (x *exchange) collectionParams() ([]query.Node, error) {
	var parts []query.Node
	for _, p := range []struct {
		name    string
		allowed []string // nil allows any value
		node    func(value string) query.Node
	}{
		{"approval_status", []string{item.Approved, item.Rejected, item.Pending}, term("approval_status")},
		{"social_platform", []string{"twitter", "vinetweet", "instagram", "facebook", "tumblr", item.Direct}, term("content.social_platform")},
		{"media_type", []string{item.Video, item.Image, item.Text}, term("content.content_type")},
		{"claimed", []string{"yes", "no"}, func(v string) query.Node { return query.FieldTerm("claimed", strconv.FormatBool(v == "yes")) }},
		{"has_activate_units", []string{"yes", "no"}, hasUnits},
		{"external_id", nil, term("activate_units.external_id")},
		{"activate_unit_id", nil, term("activate_units.id")},
	} {
		values, err := x.choices(p.name, p.allowed...)
		if err != nil {
			return nil, err
		}
		if p.name == "activate_unit_id" && slices.ContainsFunc(values, isNoID) {
			return nil, invalid(p.name, "must contain ids of conversion units, which are whole numbers up to 2^53-1")
		}
		if len(values) > 0 {
			parts = append(parts, anyOf(values, p.node))
		}
	}
	tagged, err := x.collectionTags()
	if err != nil {
		return nil, err
	}
	authors, err := x.commaList("author_id")
	if err != nil {
		return nil, err
	}
	if parts = append(parts, tagged...); len(authors) > 0 {
		parts = append(parts, anyOf(authors, author))
	}
	return parts, nil
}

func isNoID(value string) bool {
	n, ok := digits(value)
	return !ok || n > item.MaxID
}

// term returns a function that builds a tree for a value of the field.
func term(field string) func(value string) query.Node {
	return func(value string) query.Node { return query.FieldTerm(field, value) }
}

// hasUnits returns a tree that matches items with conversion units if value is "yes", and items without conversion units otherwise.
func hasUnits(value string) query.Node {
	units := query.FieldName{Name: "activate_units.id"}
	if value == "yes" {
		return query.Exists{Leaf: query.Leaf{Field: units}}
	}
	return query.Missing{Leaf: query.Leaf{Field: units}}
}

// anyOf returns a tree that matches an item if the tree of at least one value matches the item. node returns the tree of a value.
func anyOf(values []string, node func(value string) query.Node) query.Node {
	if len(values) == 1 {
		return node(values[0])
	}
	clauses := make([]query.Clause, len(values))
	for i, v := range values {
		clauses[i] = query.Clause{Occur: query.Should, Node: node(v)}
	}
	return query.Bool{Clauses: clauses}
}

// author returns a tree that matches the items of one author, by username, platform id or numeric id.
func author(name string) query.Node {
	fields := []string{"content.author.username", "content.author.platform_id"}
	if !isNoID(name) {
		fields = append(fields, "content.author.id")
	}
	return anyOf(fields, func(field string) query.Node { return query.FieldTerm(field, name) })
}

// collectionTags reads the parameters namespace and tags_required. If one of them is sent, the other is required. An item must have all
// keys, each in any of the namespaces.
func (x *exchange) collectionTags() ([]query.Node, error) {
	namespaces, err := x.commaList("namespace")
	if err != nil {
		return nil, err
	}
	keys, err := x.commaList("tags_required")
	if err != nil {
		return nil, err
	}
	if (namespaces == nil) != (keys == nil) {
		name := "tags_required"
		if namespaces == nil {
			name = "namespace"
		}
		return nil, &problem{Type: problems.MissingParameter, Parameter: name, Detail: `the parameters "namespace" and "tags_required" work only together: add the missing one, or omit both`}
	}
	if len(namespaces)*len(keys) > maxListed {
		return nil, invalid("tags_required", "combines too many keys and namespaces: the number of keys times the number of namespaces must be at most %d", maxListed)
	}
	var parts []query.Node
	for _, key := range keys {
		parts = append(parts, anyOf(namespaces, func(namespace string) query.Node {
			return library.FavouriteTerm(item.NewTag(namespace, key))
		}))
	}
	return parts, nil
}
