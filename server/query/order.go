package query

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Order is a parsed sort_by. The most significant key comes first. nil means that no order was specified. If all keys are equal, the item
// with the newest created_on comes first, and of equally new items the one with the highest id. Items without a value for a key come last
// in ascending and in descending order.
type Order []Key

// Key is one key of an Order.
type Key struct {
	// Field is the canonical name of a sortable field, ScoreKey or RandomKey.
	Field string
	// Desc is true for descending order (:desc).
	Desc bool
}

const (
	// ScoreKey sorts by relevance. Only _score:desc is valid.
	ScoreKey = "_score"
	// RandomKey sorts by a hash of the seed of the request and the id of the item. It must be the only key.
	RandomKey = "random"
)

// ParseOrder parses a sort string. This is a comma-separated list of <field>:<asc|desc>, which can also contain _score:desc for relevance,
// or it is only the word random. The error is a *SyntaxError. For a field that is not sortable, the error lists the sortable fields.
func ParseOrder(s string) (Order, error) { return parseOrder(s, Private) }

// parseOrder parses a sort string. Its errors propose only fields that the audience may use.
func parseOrder(s string, a Audience) (Order, error) {
	if strings.TrimSpace(s) == "" {
		return nil, &SyntaxError{
			Reason:   "the sort order is empty",
			Position: utf8.RuneCountInString(s),
			Expected: "<field>:asc, <field>:desc or random",
		}
	}
	if !utf8.ValidString(s) {
		return nil, &SyntaxError{Reason: "invalid UTF-8", Position: invalidAt(s), Near: excerpt(strings.ToValidUTF8(s, "\uFFFD"), nearLength)}
	}
	order, err := parseKeys(s, a)
	if err != nil {
		err.Near = excerpt(string([]rune(s)[err.Position:]), nearLength)
		return nil, err
	}
	return order, nil
}

// ParseOrderFor parses a sort string with the rights of its audience. It checks the names of all fields first, so that the error for a
// private field depends only on the name of the field, and does not reveal whether any item has a value in that field. The error is a
// *SyntaxError or a *ForbiddenFieldError.
func ParseOrderFor(s string, a Audience) (Order, error) {
	if a == Public {
		for key := range strings.SplitSeq(s, ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(key), ":")
			if err := CheckOrder(Order{{Field: name}}, Public); err != nil {
				return nil, err
			}
		}
	}
	return parseOrder(s, a)
}

// parseKeys parses the keys of an order. In its error, Near is not set.
func parseKeys(s string, a Audience) (Order, *SyntaxError) {
	var order Order
	parts := strings.Split(s, ",")
	at := 0 // the position of the part, in characters
	for _, part := range parts {
		blank := utf8.RuneCountInString(part) - utf8.RuneCountInString(strings.TrimLeftFunc(part, isSpace))
		key, err := parseKey(strings.TrimFunc(part, isSpace), at+blank, a)
		if err != nil {
			return nil, err
		}
		if key.Field == RandomKey && len(parts) > 1 {
			return nil, orderError("random is combined with other sort keys", at+blank, "random alone")
		}
		if slices.ContainsFunc(order, func(k Key) bool { return k.Field == key.Field }) {
			return nil, orderError(fmt.Sprintf("the sort key %s occurs twice", key.Field), at+blank, "each field at most once")
		}
		order = append(order, key)
		at += utf8.RuneCountInString(part) + 1
	}
	return order, nil
}

// parseKey parses the key s, which is at position at.
func parseKey(s string, at int, a Audience) (Key, *SyntaxError) {
	if s == RandomKey {
		return Key{Field: RandomKey}, nil
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return Key{}, orderError("a sort key without a direction", at, fmt.Sprintf("%s:asc or %s:desc", keyName(s), keyName(s)))
	}
	name, direction := s[:i], s[i+1:]
	behind := at + utf8.RuneCountInString(name) + 1
	if name == RandomKey {
		return Key{}, orderError("random has no direction", at, "random alone")
	}
	if direction != "asc" && direction != "desc" {
		return Key{}, orderError("a bad sort direction", behind, "asc or desc")
	}
	key := Key{Field: name, Desc: direction == "desc"}
	if name == ScoreKey {
		if !key.Desc {
			return Key{}, orderError("relevance can only be sorted in descending order", behind, "_score:desc")
		}
		return key, nil
	}
	field, ok := Lookup(name)
	if !ok || !field.Sortable {
		reason := fmt.Sprintf("cannot sort by the field %q", excerpt(name, longestName))
		if near, sortable := Lookup(nearestField(name, a)); !ok && sortable && near.Sortable {
			reason += fmt.Sprintf(" (did you mean %q?)", near.Name)
		}
		return Key{}, orderError(reason, at, "one of "+strings.Join(SortableFields(a), ", "))
	}
	key.Field = field.Name
	return key, nil
}

func keyName(s string) string {
	if s == "" {
		return "<field>"
	}
	return excerpt(s, longestName)
}

func orderError(reason string, at int, expected string) *SyntaxError {
	return &SyntaxError{Reason: reason, Position: at, Expected: expected}
}

// Random reports whether the order is random and therefore needs a seed.
func (o Order) Random() bool { return len(o) > 0 && o[0].Field == RandomKey }

// Scored reports whether the order sorts by relevance.
func (o Order) Scored() bool {
	return slices.ContainsFunc(o, func(k Key) bool { return k.Field == ScoreKey })
}

// CheckOrder returns a *ForbiddenFieldError if the order uses a field that the audience must not see.
func CheckOrder(o Order, a Audience) error {
	for _, k := range o {
		if a == Public && private(k.Field) {
			return &ForbiddenFieldError{Field: k.Field}
		}
	}
	return nil
}

// String returns the sort string with canonical field names.
func (o Order) String() string {
	var b strings.Builder
	for i, k := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(k.Field)
		switch {
		case k.Field == RandomKey:
		case k.Desc:
			b.WriteString(":desc")
		default:
			b.WriteString(":asc")
		}
	}
	return b.String()
}

// SortableFields lists the canonical names of the fields that a sort string of an audience can contain, except for dynamic fields, followed by
// _score and random.
func SortableFields(a Audience) []string {
	var out []string
	for _, f := range Fields() {
		if f.Sortable && f.visibleTo(a) {
			out = append(out, f.Name)
		}
	}
	slices.Sort(out)
	return append(out, ScoreKey, RandomKey)
}
