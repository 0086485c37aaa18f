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

// maxParameter is the maximum length of a parameter, in bytes. The longest valid parameter is a query of 16 KiB.
const maxParameter = 64 << 10

// param returns the value of a parameter, or "" if it was not sent. If it was sent with two different values, param returns an error,
// because the request is ambiguous.
func (x *exchange) param(name string) (string, error) {
	values := x.params[name]
	if len(values) == 0 {
		return "", nil
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return "", invalid(name, "was sent twice with different values: send it once")
		}
	}
	if !utf8.ValidString(values[0]) {
		return "", invalid(name, "is not UTF-8")
	}
	if len(values[0]) > maxParameter {
		return "", invalid(name, "is longer than %d bytes", maxParameter)
	}
	return values[0], nil
}

// optional returns the value of a parameter that may be omitted. A blank value counts as omitted.
func (x *exchange) optional(name string) (string, error) {
	value, err := x.param(name)
	if strings.TrimSpace(value) == "" {
		value = ""
	}
	return value, err
}

// required returns the value of a parameter that the caller must send. The value must not be blank.
func (x *exchange) required(name string) (string, error) {
	value, err := x.optional(name)
	if err == nil && value == "" {
		err = missing(name)
	}
	return value, err
}

// number returns the value of a parameter that must be an integer from least to most. If the parameter was not sent or is blank, number
// returns the default, which is the argument "otherwise".
func (x *exchange) number(name string, otherwise, least, most int64) (int64, error) {
	value, err := x.optional(name)
	if err != nil || value == "" {
		return otherwise, err
	}
	if n, ok := digits(value); ok && n >= least && n <= most {
		return n, nil
	}
	if most == item.MaxID {
		return 0, invalid(name, "must be a whole number from %d to 2^53-1", least)
	}
	return 0, invalid(name, "must be a whole number from %d to %d", least, most)
}

// digits parses a number that consists only of decimal digits.
func digits(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// flag reports whether a parameter is 1. In the specification, flags are numbers.
func (x *exchange) flag(name string) (bool, error) {
	n, err := x.number(name, 0, 0, 1)
	return n == 1, err
}

// seed returns the seed of a random order, or "" if none was sent. In the specification, a seed is a number. The deprecated collection
// accepts any text.
func (x *exchange) seed(numeric bool) (string, error) {
	value, err := x.optional("seed")
	if err != nil || value == "" {
		return "", err
	}
	if numeric {
		// ParseFloat also accepts inf, nan and hexadecimal numbers, so check the characters too. A number outside the range of float64 is
		// still a number.
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

// idParam reads a parameter that contains the id of an item.
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

// pathNumber reads a path segment that the specification types as a number. For an integer outside the range of ids, it returns -1, which
// is not an id. For a text that is not an integer, it returns an error.
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

// pathID reads a path segment with an id that the specification types as a string. For a text that is not an id, it returns 0, which is not
// an id either.
func (x *exchange) pathID(name string) int64 {
	n, ok := digits(x.r.PathValue(name))
	if !ok || n > item.MaxID {
		return 0
	}
	return n
}

// filterRef parses a filter's UUID or numeric id.
func filterRef(name string) library.FilterRef {
	if n, ok := digits(name); ok {
		return library.FilterRef{ID: n}
	}
	return library.FilterRef{UUID: strings.ToLower(name)}
}

// query parses a query from the caller and checks it with the caller's rights. It adds the warnings to the response. Parsing a query counts
// towards the token's limit of concurrent queries in the same way as running it, because parsing expands patterns.
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

// queryParam parses a parameter that contains a query. It returns nil if the parameter was not sent.
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

// orderParam parses a parameter that contains an order. It returns nil if the parameter was not sent.
func (x *exchange) orderParam(name string) (query.Order, error) {
	text, err := x.optional(name)
	if err != nil || text == "" {
		return nil, err
	}
	order, err := query.ParseOrderFor(text, x.audience())
	if err != nil {
		return nil, inParameter(err, name)
	}
	return order, nil
}

// favouriteParam parses a parameter that contains a tag, as namespace:key, or only as a key of the namespace marketer_tags. It returns nil
// if the parameter was not sent.
func (x *exchange) favouriteParam(name string) (*item.Tag, error) {
	text, err := x.optional(name)
	if err != nil || text == "" {
		return nil, err
	}
	t := item.Tag{Namespace: item.MarketerNamespace, Key: text}
	// A namespace can contain a colon, but a key cannot.
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		t.Namespace, t.Key = text[:at], text[at+1:]
	}
	t = item.NewTag(t.Namespace, t.Key)
	err = errors.Join(item.ValidNamespace(t.Namespace), item.ValidKey(t.Namespace, t.Key))
	if err != nil {
		return nil, invalid(name, "must be a tag: a key in the namespace marketer_tags, or namespace:key")
	}
	return &t, nil
}

// choices parses a comma-separated list of values. If allowed is not empty, it must contain all of the values. choices returns nil if the
// parameter was not sent.
func (x *exchange) choices(name string, allowed ...string) ([]string, error) {
	values, err := x.commaList(name)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if allowed != nil && !slices.Contains(allowed, v) {
			return nil, invalid(name, "must be one or more of these values, separated by commas: %s", strings.Join(allowed, ", "))
		}
	}
	return values, nil
}

// commaList parses a comma-separated list, and trims white space around the values. It returns nil if the parameter was not sent.
func (x *exchange) commaList(name string) ([]string, error) {
	text, err := x.optional(name)
	if err != nil || text == "" {
		return nil, err
	}
	var values []string
	for v := range strings.SplitSeq(text, ",") {
		if v = strings.TrimSpace(v); v == "" {
			return nil, invalid(name, "has an empty value: remove the extra comma")
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

// maxListed is the maximum number of values in a comma-separated parameter. With this limit, a request with several such parameters stays
// well below the limit of 1,024 clauses for a query.
const maxListed = 100
