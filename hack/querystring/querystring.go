// Package querystring formats a query of Vitrine for OpenSearch's query_string query. Most constructs mean the same in both query
// languages. Rewrite replaces constructs that only Vitrine has, or that OpenSearch interprets differently, with constructs that mean the
// same in both. No other package knows these differences. The comparison of results with OpenSearch and the benchmarks send the output of
// Rewrite; the library on OpenSearch does not use query_string. Mapping returns the mapping of an index for these queries.
//
// This package may import query and its subpackages. It does not depend on an index. luqum, which also writes Lucene's syntax, was refused,
// because it does not know the syntax that only Vitrine has, and is a Python library.
package querystring

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// DefaultAllField is the name of query.AllField in an OpenSearch index, where names with a leading underscore are reserved.
const DefaultAllField = "all"

// Options contains the inputs of Rewrite in addition to the tree.
type Options struct {
	// Now is the value of `now`. Required.
	Now time.Time
	// AllField is the field of the index that corresponds to query.AllField. A search must list this field as the only entry of its parameter
	// fields. If a search names the field in default_field instead, OpenSearch interprets bare words that start with < or > as comparisons. ""
	// means DefaultAllField.
	AllField string
	// Source is the text that the tree was parsed from, or "" for a composed tree. If nothing must be rewritten, Rewrite returns Source
	// unchanged.
	Source string
	// Printed replaces regular expressions with their printed form (see automaton.Expression), and the names of their fields with canonical
	// names. OpenSearch 2 needs this: it reads ~ as an operator, and a regular expression on an alias finds nothing.
	Printed bool
}

// errNoNow is the error for Options without Now.
var errNoNow = errors.New("querystring: Options.Now is required")

// Rewrite returns the text of a query_string query that selects and ranks documents in the same way as n, if the documents have no empty
// values. There is one known difference: for a query that is only an _exists_ on a text field, the total that OpenSearch returns leaves out
// texts without any word, although they are among the hits. In a search with a post_filter, the total includes them. Rewrite makes the
// following replacements:
//
//   - a list of values, field:(a,b), with a group of the values;
//   - _missing_:f with (+*:* -_exists_:f);
//   - a blank query within another query with (+*:* -*:*), which matches nothing;
//   - short names that cannot be aliases in an index (author.username, tags.<namespace>, _all and so on) with canonical names, both in
//     tests of values and in tests of presence;
//   - names that the catalogue does not have, but that have a meaning in an index or are errors in OpenSearch (Options.AllField, _id,
//     dots), with a query that matches nothing;
//   - _exists_ of a name pattern with the same pattern with escaped stars, and _exists_ of all names with *:*;
//   - now on a date field with Options.Now, and the unchanged date math after it;
//   - a year or a month on a date field with the equivalent range or bound;
//   - a comparison with a quoted value, f:>"a b", with a range;
//   - a range bound with an escaped space, f:[a\ b TO c], with a quoted bound;
//   - white space other than spaces in a query that contains a range with spaces;
//   - a pattern with escaped letters, l\u006fv*, with a pattern without escaped letters;
//   - a negative zero on a double field with zero, because Lucene distinguishes the two;
//   - a value with an escaped comparison sign, f:\>a, with a quoted value or, on a text field, with the text after the sign;
//   - adjacent bare words on a field that is not a text field, which OpenSearch would join, with one clause each.
//
// If there is nothing to replace, Rewrite returns Options.Source or, if that is "", the canonical form of the tree.
//
// Rewrite does not change a pattern of field names. OpenSearch compares such a pattern with all fields of the index, including private
// ones, so the library must itself protect private fields from public readers. The index must define the aliases of Aliases. The tree must
// have passed query.Check for its audience. The error is a *query.SyntaxError about a date.
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
	if o.Source != "" && n.String() == out.String() && !newSource(o.Source).ours(n) {
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

// aliasable reports whether a mapping can define a short name as an alias. A name with several parts cannot be an alias, because the first
// part would become an object, although it can also be a short name.
func aliasable(short string) bool { return !strings.Contains(short, ".") }

// rewriter is the state of one Rewrite.
type rewriter struct {
	Options
	now string
}

// node rewrites n and all nodes below it.
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
	case query.All:
		return n, nil
	case query.None:
		return nothing(), nil
	case query.Missing:
		switch {
		case r.hidden(n.Field):
			return query.All{}, nil
		case everyField(n.Field):
			return nothing(), nil
		}
		return except(query.Exists{Leaf: query.Leaf{Field: r.presence(n.Field)}}), nil
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
		return r.regexp(n)
	}
	return nil, fmt.Errorf("rewrite for OpenSearch: unknown clause %T", n)
}

// regexp rewrites a regular expression.
func (r *rewriter) regexp(n query.Regexp) (query.Node, error) {
	if r.Printed {
		a, err := new(query.Patterns).Compile(n)
		if err != nil {
			return nil, err
		}
		if source, ok := automaton.Source(a); ok {
			n.Pattern = source.Trim(query.Folded).Print()
		}
		if f, ok := query.Lookup(n.Field.Name); ok && !n.Field.Pattern {
			n.Field.Name = f.Name
		}
	}
	n.Field = r.field(n.Field)
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
			return query.Phrase{Leaf: query.Leaf{Field: r.field(n.Field)}, Text: n.Text}, nil
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

// presence is like field, but for the value of _exists_ or _missing_, which can also be the name of an object.
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
		return query.All{} // every item has a value in some field, such as the id
	}
	n.Field = r.presence(n.Field)
	return n
}

// everyField reports whether f is a pattern that matches all names. Such a pattern would also match names that only the index has.
func everyField(f query.FieldName) bool { return f.Pattern && strings.Trim(f.Name, "*") == "" }

// hidden reports whether the catalogue does not have f, but OpenSearch would treat it as a special name.
func (r *rewriter) hidden(f query.FieldName) bool {
	if f.Pattern || f.Name == query.AllField {
		return false
	}
	_, known := query.Lookup(f.Name)
	onlyDots := f.Name != "" && strings.Trim(f.Name, ".") == "" // such a name is an error in OpenSearch
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

// isOnly reports whether f is the name of a field of type t, or a pattern that matches such fields and no others.
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
