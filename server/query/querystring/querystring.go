// Package querystring formats a query for OpenSearch's query_string query. Most constructs mean the same in both languages. Rewrite
// replaces constructs that only this language has, or that OpenSearch interprets differently, with constructs that mean the same in both.
// No other package knows these differences. Libraries on OpenSearch and the parity run send the output of Rewrite. Mapping returns the
// mapping of an index for these queries.
//
// This package may import query and its subpackages. It does not depend on an index.
package querystring

import (
	"errors"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// DefaultAllField is the name of query.AllField in an OpenSearch index, where names with a leading underscore are reserved.
const DefaultAllField = "all"

// Options holds the inputs of Rewrite besides the tree.
type Options struct {
	// Now is the value of `now`. Required.
	Now time.Time
	// AllField is the field of the index that corresponds to query.AllField. A search must list it as its only entry in fields. If a search
	// names it as default_field instead, OpenSearch interprets bare words that start with < or > as comparisons. Empty means
	// DefaultAllField.
	AllField string
	// Source is the text that the tree was parsed from, or "" for a composed tree. If nothing must be rewritten, Rewrite returns Source
	// unchanged.
	Source string
}

// errNoNow is the error for Options without Now.
var errNoNow = errors.New("querystring: Options.Now is required")

// Rewrite returns the text of a query_string query that selects and ranks documents in the same way as n, if the documents have no empty
// values. For a query that is a single _exists_ on a text field, OpenSearch's total omits texts without any word, although they are among
// the hits. A search with a post_filter counts them. Rewrite makes the following replacements:
//
//   - a list of values, field:(a,b), by a group of the values;
//   - _missing_:f by (+*:* -_exists_:f);
//   - the blank query within another by (+*:* -*:*), which matches nothing;
//   - short names that cannot be aliases in an index (author.username, tags.<namespace>, _all and so on) by canonical
//     names, both in value and in presence tests;
//   - names that the catalogue does not have, but that mean something to the index or are errors there (Options.AllField,
//     _id, dots), by a query that matches nothing;
//   - _exists_ of a name pattern by one with escaped stars, and of all names by *:*;
//   - now on a date field by Options.Now, followed by its date math unchanged;
//   - a year or a month on a date field by the equivalent range or bound;
//   - a comparison with a quoted value, f:>"a b", by a range;
//   - a range bound with an escaped space, f:[a\ b TO c], by a quoted one;
//   - a range in a text with white space other than spaces by one with spaces;
//   - a pattern with escaped letters, l\u006fv*, by one without;
//   - a negative zero on a double field by zero, because Lucene distinguishes them;
//   - an escaped comparison sign before a value, f:\>a, by a quoted value, or by the words after it;
//   - adjacent bare words on a field that is not a text field, which OpenSearch would join, by one clause each.
//
// If none of these occurs, Rewrite returns Options.Source or, without one, the canonical form of the tree.
//
// Rewrite does not change a pattern of field names. Such a pattern matches all fields of the index, including private ones. If some readers
// must not see the private fields, the library must exclude these fields itself. The index needs the aliases of Aliases. The tree must have
// passed query.Check for its audience. The error is a *query.SyntaxError about a date.
func Rewrite(n query.Node, o Options) (string, error) {
	if o.Now.IsZero() {
		return "", errNoNow
	}
	if o.AllField == "" {
		o.AllField = DefaultAllField
	}
	r := rewriter{Options: o, now: o.Now.UTC().Format(instant)}
	out, err := r.node(n)
	if err != nil {
		return "", err
	}
	if o.Source != "" && query.Equal(n, out) && !newSource(o.Source).ours(n) {
		return o.Source, nil
	}
	return out.String(), nil
}

// Aliases returns the short field names that an index must define as aliases, mapped to their canonical names. The other short names cannot
// be aliases, because they are also objects. Rewrite replaces these names.
func Aliases() map[string]string {
	aliases := map[string]string{}
	for _, f := range query.Fields() {
		for _, short := range query.Aliases(f.Name) {
			if aliasable(short) {
				aliases[short] = f.Name
			}
		}
	}
	return aliases
}

// aliasable reports whether a mapping can define a short name as an alias. If a name has several parts, an alias would make the first part
// an object.
func aliasable(short string) bool { return !strings.Contains(short, ".") }

// rewriter is the state of one Rewrite.
type rewriter struct {
	Options
	now string
}

// node rewrites the constructs in n that OpenSearch does not support or interprets differently.
func (r *rewriter) node(n query.Node) (query.Node, error) {
	switch n := n.(type) {
	case query.Bool:
		return r.group(n.Clauses)
	case query.Any:
		clauses := make([]query.Clause, len(n.Values))
		for i, v := range n.Values {
			clauses[i].Node = v
		}
		return r.group(clauses)
	case query.Boost:
		inner, err := r.node(n.Node)
		return query.Boost{Node: inner, Factor: n.Factor}, err
	case query.None:
		return nothing(), nil
	case query.Missing:
		switch {
		case r.hidden(n.Field):
			return query.All{}, nil
		case everyField(n.Field):
			return nothing(), nil
		}
		return except(query.Exists{Field: r.presence(n.Field)}), nil
	case query.Exists:
		return r.exists(n), nil
	}
	if r.hidden(fieldOf(n)) {
		return nothing(), nil
	}
	switch n := n.(type) {
	case query.Term:
		return r.term(n)
	case query.Phrase:
		switch {
		case isOnly(n.Field, query.Date):
			return r.date(n, query.Bound{Text: n.Text, Inclusive: true})
		case isOnly(n.Field, query.Double):
			n.Text = unsigned(n.Text)
		}
		n.Field = r.field(n.Field)
		return n, nil
	case query.Range:
		switch {
		case isOnly(n.Field, query.Date):
			return r.dateRange(n)
		case isOnly(n.Field, query.Double):
			n.From.Text, n.To.Text = unsigned(n.From.Text), unsigned(n.To.Text)
		}
		n.Field = r.field(n.Field)
		return n, nil
	case query.Wildcard:
		if n.Pattern == "*" {
			n.Field = r.presence(n.Field)
		} else {
			n.Field = r.field(n.Field)
		}
		return n, nil
	case query.Fuzzy:
		n.Field = r.field(n.Field)
		return n, nil
	case query.Regexp:
		n.Field = r.field(n.Field)
		return n, nil
	}
	return n, nil
}

// term rewrites a single word or value.
func (r *rewriter) term(n query.Term) (query.Node, error) {
	switch {
	case isOnly(n.Field, query.Date):
		return r.date(n, query.Bound{Text: n.Text, Inclusive: true})
	case isOnly(n.Field, query.Double):
		n.Text = unsigned(n.Text)
	}
	if rest := strings.TrimLeft(n.Text, "<>"); n.Field.Name != "" && rest != n.Text {
		// OpenSearch interprets a comparison sign even if it is escaped.
		if rest == "" || !isText(n.Field) {
			return query.Phrase{Field: r.field(n.Field), Text: n.Text}, nil
		}
		n.Text = rest
	}
	n.Field = r.field(n.Field)
	return n, nil
}

// group rewrites clauses one by one.
func (r *rewriter) group(clauses []query.Clause) (query.Node, error) {
	out := make([]query.Clause, len(clauses))
	for i, c := range clauses {
		n, err := r.node(c.Node)
		if err != nil {
			return nil, err
		}
		out[i] = query.Clause{Occur: c.Occur, Node: n}
	}
	return query.Bool{Clauses: out}, nil
}

// except returns a query that matches all items that n does not match, with score 1.
func except(n query.Node) query.Node {
	return query.Bool{Clauses: []query.Clause{
		{Occur: query.Must, Node: query.All{}},
		{Occur: query.MustNot, Node: n},
	}}
}

// field returns the name that a field has in the index.
func (r *rewriter) field(f query.FieldName) query.FieldName {
	if f.Name == query.AllField {
		return query.FieldName{Name: r.AllField}
	}
	if f.Pattern {
		for _, object := range []string{"author", "media"} {
			if canonical, ok := query.Object(object); ok && strings.HasPrefix(f.Name, object+".") {
				f.Name = canonical + strings.TrimPrefix(f.Name, object)
			}
		}
		return f
	}
	if field, ok := query.Lookup(f.Name); ok && !aliasable(f.Name) {
		f.Name = field.Name
	}
	return f
}

// presence is like field, for the value of _exists_ or _missing_, which can also be the name of an object.
func (r *rewriter) presence(f query.FieldName) query.FieldName {
	if object, ok := query.Object(f.Name); ok && !f.Pattern {
		return query.FieldName{Name: object}
	}
	return r.field(f)
}

// exists rewrites a test for the presence of a field, of an object, or of fields that match a pattern.
func (r *rewriter) exists(n query.Exists) query.Node {
	switch {
	case r.hidden(n.Field):
		return nothing()
	case everyField(n.Field):
		return query.All{} // every item has an id
	}
	n.Field = r.presence(n.Field)
	return n
}

// everyField reports whether f is a pattern that matches all names. Such a pattern would also match names that only the index has.
func everyField(f query.FieldName) bool { return f.Pattern && strings.Trim(f.Name, "*") == "" }

// hidden reports whether f is not in the catalogue but has a meaning for the index.
func (r *rewriter) hidden(f query.FieldName) bool {
	if f.Pattern || f.Name == query.AllField {
		return false
	}
	_, known := query.Lookup(f.Name)
	onlyDots := f.Name != "" && strings.Trim(f.Name, ".") == "" // which is an error in OpenSearch
	return !known && (f.Name == r.AllField || strings.HasPrefix(f.Name, "_") || onlyDots)
}

// fieldOf returns the field of a leaf.
func fieldOf(n query.Node) query.FieldName {
	if names := query.Names(n); len(names) == 1 {
		return names[0]
	}
	return query.FieldName{}
}

// nothing returns a query that matches no item.
func nothing() query.Node { return except(query.All{}) }

// unsigned removes the minus sign of a zero.
func unsigned(text string) string {
	if rest, ok := strings.CutPrefix(text, "-"); ok && rest != "" && strings.Trim(rest, "0.") == "" {
		return rest
	}
	return text
}

// isOnly reports whether f matches only fields of type t. f is the name of such a field, or a pattern that matches no other fields.
func isOnly(f query.FieldName, t query.Type) bool {
	fields := query.Resolve(f, query.Private, nil)
	for _, field := range fields {
		if field.Type != t {
			return false
		}
	}
	return len(fields) > 0
}

// isText reports whether f is empty or the name of a text field.
func isText(f query.FieldName) bool {
	if f.Name == "" {
		return true
	}
	field, ok := query.Lookup(f.Name)
	return ok && !f.Pattern && field.Type == query.Text
}
