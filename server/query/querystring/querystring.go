// Package querystring writes a query as text for OpenSearch's query_string query. Both sides mean the same by most of
// the language; what only this one has, or what it means in its own way, is rewritten into the common part by Rewrite,
// the one place that knows these differences. Libraries on OpenSearch and the parity run send what it returns. Mapping
// returns the mapping of an index that these queries fit.
//
// It may import query and its subpackages, and knows no index.
package querystring

import (
	"errors"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// DefaultAllField is the name that query.AllField has in an OpenSearch index, where names with a leading underscore are
// taken.
const DefaultAllField = "all"

// Options are what a rewriting depends on besides the tree.
type Options struct {
	// Now is what `now` stands for. Required.
	Now time.Time
	// AllField is the field of the index that holds what query.AllField does; the search has to name it as the only
	// one of its fields (not as default_field, which would make comparisons of bare words that begin with < or >).
	// Empty means DefaultAllField.
	AllField string
	// Source is the text that the tree was parsed from, "" for a tree that was composed. It comes back unchanged where
	// nothing has to be rewritten.
	Source string
}

// errNoNow is returned for Options without Now.
var errNoNow = errors.New("querystring: Options.Now is required")

// Rewrite returns the text of a query_string query that selects and ranks as n does, over documents that hold no empty
// values. OpenSearch's own total of a lone _exists_ on a text field leaves out texts without a word, which are among the
// hits; a search with a post_filter counts them. It rewrites:
//
//   - a list of values, field:(a,b), to a group of the values;
//   - _missing_:f to (+*:* -_exists_:f);
//   - the blank query within another to (+*:* -*:*), which matches nothing;
//   - short names that an index cannot have as an alias (author.username, tags.<namespace>, _all and so on) to the
//     names of the catalogue, no matter whether a value is looked for or the presence of a field;
//   - names that an index has, or cannot have, and the catalogue does not know (Options.AllField, _id, dots) to nothing;
//   - _exists_ of a pattern of names to one with its stars escaped, of all names to everything;
//   - now on a date field to Options.Now, with the date math behind it as it is;
//   - a year or a month on a date field to the range or the bound that it stands for;
//   - a comparison with a quoted value, f:>"a b", to a range;
//   - a bound of a range with an escaped space, f:[a\ b TO c], to a quoted one;
//   - a range in a text with other white space than spaces, to one with spaces;
//   - a pattern with escaped letters, l\u006fv*, to one without;
//   - a zero with a minus sign on a double field to one without, since Lucene tells the two apart;
//   - an escaped sign of comparison before a value, f:\>a, to a quoted value, or to the words behind it;
//   - bare words side by side on a field that is no text, which OpenSearch would glue together, to one clause each.
//
// Where none of these occurs Options.Source comes back, or without one the canonical form of the tree.
//
// A pattern of field names is sent as it is: it covers what the index has, private fields included, so that a library
// with readers who may not see them must keep those out of their reach itself. The index needs the aliases that Aliases
// lists. The tree must have passed query.Check for its audience. The error is a *query.SyntaxError about a date.
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

// Aliases returns the short names of fields that an index has to know as aliases of their canonical names, alias to
// canonical name. The other short names cannot be aliases, since they are objects as well; Rewrite replaces them.
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

// aliasable reports whether a short name can stand beside the canonical names in one mapping: it has one part, so that
// nothing lies below it once all other short names are replaced.
func aliasable(short string) bool { return !strings.Contains(short, ".") }

// rewriter is one run of Rewrite.
type rewriter struct {
	Options
	now string
}

// node returns n without what OpenSearch does not understand or understands otherwise.
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
		// An escaped sign of comparison is one all the same in OpenSearch.
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

// except is everything but n, with score 1.
func except(n query.Node) query.Node {
	return query.Bool{Clauses: []query.Clause{
		{Occur: query.Must, Node: query.All{}},
		{Occur: query.MustNot, Node: n},
	}}
}

// field returns the name that the index has for a field as written.
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

// presence is field for _exists_ and _missing_, which may name an object as well.
func (r *rewriter) presence(f query.FieldName) query.FieldName {
	if object, ok := query.Object(f.Name); ok && !f.Pattern {
		return query.FieldName{Name: object}
	}
	return r.field(f)
}

// exists rewrites the presence of a field, of an object or of a pattern of them.
func (r *rewriter) exists(n query.Exists) query.Node {
	switch {
	case r.hidden(n.Field):
		return nothing()
	case everyField(n.Field):
		return query.All{} // no item is without an id
	}
	n.Field = r.presence(n.Field)
	return n
}

// everyField reports whether f is a pattern of all names, which would cover those that only the index has.
func everyField(f query.FieldName) bool { return f.Pattern && strings.Trim(f.Name, "*") == "" }

// hidden reports whether f is no name of the catalogue, and one that means something to the index.
func (r *rewriter) hidden(f query.FieldName) bool {
	if f.Pattern || f.Name == query.AllField {
		return false
	}
	_, known := query.Lookup(f.Name)
	onlyDots := f.Name != "" && strings.Trim(f.Name, ".") == "" // an error of OpenSearch's
	return !known && (f.Name == r.AllField || strings.HasPrefix(f.Name, "_") || onlyDots)
}

// fieldOf returns the field of a leaf.
func fieldOf(n query.Node) query.FieldName {
	if names := query.Names(n); len(names) == 1 {
		return names[0]
	}
	return query.FieldName{}
}

// nothing is what no item matches.
func nothing() query.Node { return except(query.All{}) }

// unsigned takes the minus sign from a zero.
func unsigned(text string) string {
	if rest, ok := strings.CutPrefix(text, "-"); ok && rest != "" && strings.Trim(rest, "0.") == "" {
		return rest
	}
	return text
}

// isOnly reports whether a name stands for fields of one type alone: such a field, or a pattern that covers nothing else.
func isOnly(f query.FieldName, t query.Type) bool {
	fields := query.Resolve(f, query.Private, nil)
	for _, field := range fields {
		if field.Type != t {
			return false
		}
	}
	return len(fields) > 0
}

// isText reports whether a name stands for words: that of a text field, or no name at all.
func isText(f query.FieldName) bool {
	if f.Name == "" {
		return true
	}
	field, ok := query.Lookup(f.Name)
	return ok && !f.Pattern && field.Type == query.Text
}
