package library

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Check validates a definition on its own, independently of the other definitions in the library. It returns nil, a *query.SyntaxError, or
// an error that wraps ErrInvalid and says what to do. Every implementation of Apply refuses the definitions that Check refuses.
func Check(d Definition) error {
	specs := d.specs()
	if len(specs) != 1 {
		return fmt.Errorf("%w: %d of the specs are set: set exactly one", ErrInvalid, len(specs))
	}
	if d.Property == "" {
		return fmt.Errorf("%w: the property is missing", ErrInvalid)
	}
	if d.Owner.IsHTTP() {
		if k := d.Kind(); k != KindFilter && k != KindUnit {
			return fmt.Errorf("%w: a %s cannot be created over HTTP: apply a manifest instead", ErrInvalid, k)
		}
	} else if d.Owner.Kind != d.Kind() || d.Owner.Namespace == "" || d.Owner.Name == "" {
		return fmt.Errorf("%w: owner %q cannot own a %s", ErrInvalid, d.Owner, d.Kind())
	}
	return specs[0].check(d.Owner)
}

func (p *Property) check(Owner) error {
	if !item.ValidID(p.PlatformPageID) {
		return fmt.Errorf("%w: platform page id %d is not between 1 and 2^53-1", ErrInvalid, p.PlatformPageID)
	}
	if p.RatePerSecond < 0 || p.Burst < 0 {
		return fmt.Errorf("%w: a rate limit cannot be negative", ErrInvalid)
	}
	if err := CheckExternalURL(p.ExternalURL); err != nil {
		return fmt.Errorf("%w: external URL: %w", ErrInvalid, err)
	}
	if _, err := ParseTokenScope(p.ReadOnlyQuery); err != nil {
		return fmt.Errorf("read-only %w", err)
	}
	return nil
}

func (t *Token) check(Owner) error {
	var zero Digest
	for i, v := range t.Values {
		if v.Digest == zero {
			return fmt.Errorf("%w: token value %d has no digest", ErrInvalid, i)
		}
	}
	if t.Allow != nil && !t.ReadWrite {
		return fmt.Errorf("%w: only a READ-WRITE token can be limited to actions", ErrInvalid)
	}
	for _, a := range t.Allow {
		if !slices.Contains(Actions(), a) {
			return fmt.Errorf("%w: there is no action %q", ErrInvalid, a)
		}
	}
	for i, s := range t.Subjects {
		if (s.User == "") == (s.Group == "") {
			return fmt.Errorf("%w: subject %d of the token must be either a user or a group", ErrInvalid, i)
		}
	}
	if len(t.Subjects) > 0 && t.Filters != nil {
		return fmt.Errorf("%w: a token with filters cannot have subjects, because the console cannot use it", ErrInvalid)
	}
	_, err := ParseTokenScope(t.Query)
	return err
}

func (f *Filter) check(owner Owner) error {
	switch {
	case f.Name == "":
		return fmt.Errorf("%w: the filter has no name", ErrInvalid)
	case !item.ValidID(f.ID):
		return fmt.Errorf("%w: filter id %d is not between 1 and 2^53-1", ErrInvalid, f.ID)
	case f.UUID == "" && !f.Adopt:
		return fmt.Errorf("%w: the filter has no UUID", ErrInvalid)
	case f.Adopt && owner.IsHTTP():
		return fmt.Errorf("%w: only a manifest can adopt a filter", ErrInvalid)
	}
	if f.Favourite != nil {
		if err := CheckTag(*f.Favourite); err != nil {
			return fmt.Errorf("%w: favourite tag: %w", ErrInvalid, err)
		}
	}
	_, err := ParseFilter(*f)
	return err
}

// CheckTag returns nil if items can have the tag t, and an *item.InvalidError otherwise.
func CheckTag(t item.Tag) error {
	if err := item.ValidNamespace(t.Namespace); err != nil {
		return err
	}
	return item.ValidKey(t.Namespace, t.Key)
}

func (t *TagRule) check(Owner) error {
	if err := CheckTag(t.Tag); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return checkRule(KindTag, t.Items, t.Selector)
}

func (u *UnitRule) check(owner Owner) error {
	switch {
	case !item.ValidID(u.Unit.ID):
		return fmt.Errorf("%w: unit id %d is not between 1 and 2^53-1", ErrInvalid, u.Unit.ID)
	case u.Unit.Name == "":
		return fmt.Errorf("%w: the unit has no name", ErrInvalid)
	case owner.IsHTTP() && (u.Default || len(u.Items) > 0 || u.Selector != ""):
		return fmt.Errorf("%w: a unit created over HTTP cannot be a default or have items or a selector", ErrInvalid)
	}
	return checkRule(KindUnit, u.Items, u.Selector)
}

func (w *Webhook) check(Owner) error {
	u, err := url.Parse(w.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil:
		return fmt.Errorf("%w: the URL of a webhook must be an absolute http or https URL without a user", ErrInvalid)
	case (w.FilterUUID == "") == (w.Query == ""):
		return fmt.Errorf("%w: a webhook must have either a filter or a query", ErrInvalid)
	case !w.Entered && !w.Left && !w.Changed:
		return fmt.Errorf("%w: a webhook must have an event", ErrInvalid)
	case w.MaxItems < 1 || w.MaxItems > MaxWebhookItems || w.MaxDelay < 0:
		return fmt.Errorf("%w: a delivery of a webhook must have 1 to %d changes, and no negative delay", ErrInvalid, MaxWebhookItems)
	}
	if w.Query == "" {
		return nil
	}
	if _, err := query.ParseFor(w.Query, query.Public); err != nil {
		return fmt.Errorf("%w: query: %w", ErrInvalid, err)
	}
	return nil
}

// MaxWebhookItems is the maximum of Webhook.MaxItems.
const MaxWebhookItems = 500

func checkRule(kind Kind, ids []item.ID, selector string) error {
	for _, id := range ids {
		if !item.ValidID(id) {
			return fmt.Errorf("%w: item id %d is not between 1 and 2^53-1", ErrInvalid, id)
		}
	}
	_, _, err := ParseSelector(kind, selector)
	return err
}

// ParsedFilter is a Filter with its query and sort order parsed.
type ParsedFilter struct {
	Query     query.Node
	Order     query.Order
	Favourite *item.Tag
}

// ParseFilter parses the query and the order of a filter. Both may use private fields, because the author of a filter is allowed to query
// them. An empty Order means newest first. The error wraps a *query.SyntaxError.
func ParseFilter(f Filter) (ParsedFilter, error) {
	q, err := query.ParseFor(f.Query, query.Private)
	if err != nil {
		return ParsedFilter{}, fmt.Errorf("query: %w", err)
	}
	order, err := query.ParseOrder(cmp.Or(f.Order, DefaultOrder))
	if err != nil {
		return ParsedFilter{}, fmt.Errorf("order: %w", err)
	}
	return ParsedFilter{Query: q.Root, Order: order, Favourite: f.Favourite}, nil
}

// DefaultOrder is the order of a filter whose Order is empty.
const DefaultOrder = "created_on:desc"

// SelectorError reports that a selector uses a forbidden field. It wraps ErrInvalid.
type SelectorError struct {
	// Field is the name of the field or the field pattern, as the author wrote it.
	Field string
	// Rule states the violated rule, such as "the selector of a Tag cannot use fields of tags or units".
	Rule string
}

func (e *SelectorError) Error() string {
	return fmt.Sprintf("field %s is not allowed: %s", e.Field, e.Rule)
}

// Unwrap returns ErrInvalid.
func (e *SelectorError) Unwrap() error { return ErrInvalid }

// ParseSelector parses the selector of a Tag (KindTag) or an ActivateUnit (KindUnit). For an empty selector, it returns a nil node, which
// matches nothing. To prevent cycles between rules (docs/kinds.md, "Tag"), the selector of a Tag cannot use fields of tags or units, and
// the selector of an ActivateUnit cannot use fields of units. ParseSelector also refuses a field pattern that could match a forbidden
// field. The error wraps a *query.SyntaxError or ErrInvalid.
func ParseSelector(kind Kind, selector string) (query.Node, []query.Warning, error) {
	if selector == "" {
		return nil, nil, nil
	}
	q, err := query.ParseFor(selector, query.Private)
	if err != nil {
		return nil, nil, fmt.Errorf("selector: %w", err)
	}
	forbidden := []string{"activate_units", "default_activate_unit"}
	rule := "the selector of an ActivateUnit cannot use fields of units"
	if kind == KindTag {
		forbidden = append(forbidden, "tags")
		rule = "the selector of a Tag cannot use fields of tags or units"
	}
	for _, name := range query.Names(q.Root) {
		for _, family := range forbidden {
			if name.Reaches(family) {
				return nil, nil, &SelectorError{Field: name.Name, Rule: rule}
			}
		}
	}
	return q.Root, q.Warnings, nil
}
