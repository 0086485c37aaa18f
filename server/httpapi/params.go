package httpapi

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// maxParameter is the length of a parameter, in bytes. The longest one that means anything is a query of 16 KiB.
const maxParameter = 64 << 10

// param returns a parameter: its value and whether it was sent at all. Two different values are an error, as nobody could
// say which one is meant.
func (x *exchange) param(name string) (value string, sent bool, err error) {
	values := x.params[name]
	if len(values) == 0 {
		return "", false, nil
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return "", true, invalid(name, "was sent twice with different values: send it once")
		}
	}
	if !utf8.ValidString(values[0]) {
		return "", true, invalid(name, "is not UTF-8")
	}
	if len(values[0]) > maxParameter {
		return "", true, invalid(name, "is longer than %d bytes", maxParameter)
	}
	return values[0], true, nil
}

// optional returns a parameter that may be left out; a blank one counts as left out, and is "".
func (x *exchange) optional(name string) (string, error) {
	value, _, err := x.param(name)
	if strings.TrimSpace(value) == "" {
		value = ""
	}
	return value, err
}

// required returns a parameter that has to be there and not blank.
func (x *exchange) required(name string) (string, error) {
	value, err := x.optional(name)
	if err == nil && value == "" {
		err = missing(name)
	}
	return value, err
}

// number returns a whole number between least and most, or otherwise when the parameter was not sent or is blank.
func (x *exchange) number(name string, otherwise, least, most int64) (int64, error) {
	value, err := x.optional(name)
	if err != nil || value == "" {
		return otherwise, err
	}
	if n, ok := digits(value); ok && n >= least && n <= most {
		return n, nil
	}
	if most == item.MaxID {
		return 0, invalid(name, "must be a whole number from %d on, at most 2^53-1", least)
	}
	return 0, invalid(name, "must be a whole number from %d to %d", least, most)
}

// digits reads a number of decimal digits and nothing else.
func digits(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// flag returns whether a parameter that the specification types as a number is 1.
func (x *exchange) flag(name string) (bool, error) {
	n, err := x.number(name, 0, 0, 1)
	return n == 1, err
}

// seed returns the seed of a random order, "" when none was sent. The specification types it as a number; the deprecated
// collection's may be any text.
func (x *exchange) seed(numeric bool) (string, error) {
	value, err := x.optional("seed")
	if err != nil || value == "" {
		return "", err
	}
	if numeric {
		// ParseFloat also reads inf, nan and hexadecimal. A number that float64 cannot hold is still a number.
		_, err := strconv.ParseFloat(value, 64)
		if errors.Is(err, strconv.ErrSyntax) || strings.Trim(value, "+-.eE0123456789") != "" {
			return "", invalid("seed", "must be a number")
		}
	}
	if len(value) > 100 {
		return "", invalid("seed", "is longer than 100 bytes")
	}
	return value, nil
}

// idParam reads the id of an item in a parameter.
func (x *exchange) idParam(name string) (item.ID, error) {
	value, err := x.required(name)
	if err != nil {
		return 0, err
	}
	n, ok := digits(value)
	if !ok {
		return 0, invalid(name, "must be a whole number")
	}
	return n, nil
}

// pathNumber reads a part of the path that the specification types as a number. It returns -1, which is no id, for a whole
// number that cannot be an id, and an error for text that is not a whole number.
func (x *exchange) pathNumber(name string) (int64, error) {
	value := x.r.PathValue(name)
	n, ok := digits(value)
	if ok && n <= item.MaxID {
		return n, nil
	}
	if unsigned := strings.TrimPrefix(value, "-"); unsigned != "" && strings.Trim(unsigned, "0123456789") == "" {
		return -1, nil
	}
	return 0, invalid(name, "in the path must be a whole number")
}

// pathID reads an id that the specification types as a string: whatever is no number names nothing.
func (x *exchange) pathID(name string) int64 {
	n, ok := digits(x.r.PathValue(name))
	if !ok || n > item.MaxID {
		return 0
	}
	return n
}

// filterRef reads a filter's UUID or its numeric id.
func filterRef(name string) library.FilterRef {
	if n, ok := digits(name); ok {
		return library.FilterRef{ID: n}
	}
	return library.FilterRef{UUID: strings.ToLower(name)}
}

// query parses a query that the caller sent and checks it with the caller's rights. Its warnings go into the answer. What
// its patterns mean is worked out on the way, so that parsing counts against the token's cap as running it does.
func (x *exchange) query(text string) (query.Node, error) {
	done, err := x.grant.allowance.begin(x.server.options.QueriesPerToken)
	if err != nil {
		return nil, err
	}
	defer done()
	parsed, err := query.ParseFor(text, x.audience())
	if err != nil {
		return nil, err
	}
	x.warnings = append(x.warnings, parsed.Warnings...)
	return parsed.Root, nil
}

// queryParam reads a parameter that holds a query; nil when it was not sent.
func (x *exchange) queryParam(name string) (query.Node, error) {
	text, err := x.optional(name)
	if err != nil || text == "" {
		return nil, err
	}
	root, err := x.query(text)
	if err != nil {
		return nil, inParameter(err, name)
	}
	return root, nil
}

// order reads a sort string with the caller's rights.
func (x *exchange) order(text string) (query.Order, error) {
	if x.audience() == query.Public {
		// Looked at before the rest, so that a private field is told from an unknown one by its name alone: whether items
		// have values for it is private as well.
		for key := range strings.SplitSeq(text, ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(key), ":")
			if err := query.CheckOrder(query.Order{{Field: name}}, query.Public); err != nil {
				return nil, err
			}
		}
	}
	return query.ParseOrder(text)
}

// orderParam reads the parameter sort_by; nil when it was not sent.
func (x *exchange) orderParam() (query.Order, error) {
	text, err := x.optional("sort_by")
	if err != nil || text == "" {
		return nil, err
	}
	order, err := x.order(text)
	if err != nil {
		return nil, inParameter(err, "sort_by")
	}
	return order, nil
}

// favouriteParam reads the parameter favorite_tag: a key of the namespace marketer_tags, or namespace:key. nil when it was
// not sent.
func (x *exchange) favouriteParam() (*item.Tag, error) {
	text, err := x.optional("favorite_tag")
	if err != nil || text == "" {
		return nil, err
	}
	t := item.Tag{Namespace: item.MarketerNamespace, Key: text}
	// No key holds a colon, and a namespace may.
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		t.Namespace, t.Key = text[:at], text[at+1:]
	}
	err = errors.Join(item.ValidNamespace(t.Namespace), item.ValidKey(t.Namespace, t.Key))
	if err != nil {
		return nil, invalid("favorite_tag", "must be a tag's key, or namespace:key")
	}
	return &t, nil
}

// choices reads a comma-separated list of values, each of which must be allowed (by nil: any is); nil when the parameter was not
// sent.
func (x *exchange) choices(name string, allowed ...string) ([]string, error) {
	values, err := x.commaList(name)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if allowed != nil && !slices.Contains(allowed, v) {
			return nil, invalid(name, "takes these values, with commas between them: %s", strings.Join(allowed, ", "))
		}
	}
	return values, nil
}

// commaList reads a comma-separated list of any values, white space around them aside; nil when the parameter was not sent.
func (x *exchange) commaList(name string) ([]string, error) {
	text, err := x.optional(name)
	if err != nil || text == "" {
		return nil, err
	}
	var values []string
	for v := range strings.SplitSeq(text, ",") {
		if v = strings.TrimSpace(v); v == "" {
			return nil, invalid(name, "has an empty value between its commas")
		}
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	if len(values) > maxListed {
		return nil, invalid(name, "lists more than %d values", maxListed)
	}
	return values, nil
}

// maxListed is how many values a comma-separated parameter may list: a few of them stay well within the 1,024 clauses of
// a query.
const maxListed = 100
