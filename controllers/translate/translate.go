// Package translate translates an object of one of any kind into a definition for the library. It is pure: it has no client and no
// clock, and does no I/O. Everything that a translation depends on is an argument. To add a test case, add two files to testdata (see the
// golden test).
//
// This package may import api, library, query and item.
package translate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// SpecError describes a member of a spec that the schema accepts but that cannot be used.
type SpecError struct {
	// Reason is the condition reason of v1alpha1 that reports it.
	Reason string
	// Member is the path of the member, such as spec.query.
	Member string
	// Err describes the problem: a *query.SyntaxError for a query or a sort string.
	Err error
}

func (e *SpecError) Error() string { return e.Member + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *SpecError) Unwrap() error { return e.Err }

// maxNesting limits the nesting of free JSON. A response adds further levels around this JSON, and must not exceed item.MaxDepth in total,
// so that every client can read it.
const maxNesting = item.MaxDepth - 8

// PropertyID returns the ID of the property that an object belongs to. For a Property, this is its own ID.
func PropertyID(o v1alpha1.Object) library.PropertyID {
	return library.PropertyID(o.PropertyNamespace() + "/" + o.PropertyName())
}

// Owner returns the owner of the definition of an object. install is the identity of the cluster.
func Owner(install string, kind library.Kind, o metav1.Object) library.Owner {
	return library.Owner{Install: install, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

func definition(install string, kind library.Kind, o v1alpha1.Object) library.Definition {
	return library.Definition{
		Property: PropertyID(o),
		Owner:    Owner(install, kind, o),
		Created:  o.GetCreationTimestamp().UTC(),
	}
}

// Object translates an object of any kind, as far as the result depends only on the object. The definition of an AccessToken has no values,
// and the LastModified of an ActivateUnit is the creation time of the object. The warnings concern the object's query.
func Object(install string, o v1alpha1.Object) (d library.Definition, warnings []query.Warning, err error) {
	switch o := o.(type) {
	case *v1alpha1.Property:
		return Property(install, o)
	case *v1alpha1.AccessToken:
		return AccessToken(install, o, nil, nil)
	case *v1alpha1.ContentFilter:
		return ContentFilter(install, o)
	case *v1alpha1.Tag:
		return Tag(install, o)
	case *v1alpha1.ActivateUnit:
		return ActivateUnit(install, o)
	case *v1alpha1.Webhook:
		return Webhook(install, o)
	}
	return d, nil, fmt.Errorf("translate a %T: the API group has no such kind", o)
}

// Property translates a Property. The warnings concern its query.
func Property(install string, o *v1alpha1.Property) (library.Definition, []query.Warning, error) {
	d := definition(install, library.KindProperty, o)
	warnings, err := scopeOf("spec.readOnlyQuery", o.Spec.ReadOnlyQuery)
	if err != nil {
		return d, nil, err
	}
	p := &library.Property{
		PlatformPageID: library.PlatformPageID(d.Property),
		AllowedOrigins: o.Spec.AllowedOrigins,
		ExternalURL:    strings.TrimRight(o.Spec.ExternalURL, "/"),
		ReadOnlyQuery:  o.Spec.ReadOnlyQuery,
	}
	for _, g := range o.Spec.AllowFrom {
		p.Grants = append(p.Grants, grantOf(g))
	}
	if id := o.Spec.PlatformPageID; id != nil {
		p.PlatformPageID = *id
	}
	if r := o.Spec.RateLimit; r != nil {
		p.RatePerSecond, p.Burst = float64(r.RequestsPerSecond), int(r.Burst)
	}
	if c := o.Spec.Cache; c != nil {
		p.Cache = &library.Cache{MaxAge: c.MaxAge.Duration, StaleWhileRevalidate: c.StaleWhileRevalidate.Duration}
	}
	if s := o.Spec.Source; s != nil {
		p.Source = new(library.Source(*s))
	}
	if m := o.Spec.Maintenance; m != nil {
		p.Maintenance = &library.Maintenance{RetryAfter: m.RetryAfter.Duration, Message: m.Message}
	}
	if h := o.Spec.History; h != nil {
		p.History = new(int(h.Entries))
	}
	if m := o.Spec.Moderation; m != nil {
		p.RejectionReason = m.RejectionReason == v1alpha1.RejectionReasonRequired
	}
	d.PropertySpec = p
	return d, warnings, nil
}

func grantOf(g v1alpha1.PropertyGrant) library.Grant {
	out := library.Grant{Namespaces: g.Namespaces.Names, Kinds: g.Kinds, Filters: g.Filters}
	if slices.Contains(g.Kinds, v1alpha1.AccessTokenKind) {
		out.ReadOnly = g.Classes == nil || slices.Contains(g.Classes, v1alpha1.ReadOnly)
		out.ReadWrite = slices.Contains(g.Classes, v1alpha1.ReadWrite)
	}
	return out
}

// ContentFilter translates a ContentFilter. The warnings concern its query.
func ContentFilter(install string, o *v1alpha1.ContentFilter) (library.Definition, []query.Warning, error) {
	d := definition(install, library.KindFilter, o)
	q, err := query.ParseFor(o.Spec.Query, query.Private)
	if err != nil {
		return d, nil, &SpecError{v1alpha1.ReasonInvalidQuery, "spec.query", err}
	}
	order := cmp.Or(o.Spec.SortBy, library.DefaultOrder)
	if _, err := query.ParseOrder(order); err != nil {
		return d, nil, &SpecError{v1alpha1.ReasonInvalidSort, "spec.sortBy", err}
	}
	f := &library.Filter{
		Name:   cmp.Or(o.Spec.Name, o.Name),
		Query:  o.Spec.Query,
		Order:  order,
		Public: o.Spec.ReadAccess == v1alpha1.ReadAccessReadOnly,
	}
	if t := o.Spec.FavoriteTag; t != nil {
		f.Favourite = &item.Tag{Namespace: t.Namespace, Key: t.Key}
		if err := library.CheckTag(*f.Favourite); err != nil {
			return d, nil, &SpecError{v1alpha1.ReasonInvalidSpec, "spec.favoriteTag", err}
		}
	}
	if a := o.Spec.Adopt; a != nil {
		f.Adopt, f.ID = true, a.FilterID
	} else {
		f.UUID, f.ID = library.FilterIDs(d.Property, library.KindFilter, o.Namespace, o.Name)
	}
	d.Filter = f
	return d, q.Warnings, nil
}

// Tag translates a Tag. The warnings concern its selector.
func Tag(install string, o *v1alpha1.Tag) (library.Definition, []query.Warning, error) {
	d := definition(install, library.KindTag, o)
	selector, warnings, err := selectorOf(library.KindTag, o.Spec.Selector)
	if err != nil {
		return d, nil, err
	}
	d.Tag = &library.TagRule{
		Tag:      item.Tag{Namespace: o.Spec.Namespace, Key: o.Spec.Key},
		Items:    o.Spec.Items,
		Selector: selector,
	}
	return d, warnings, nil
}

// ActivateUnit translates an ActivateUnit. The warnings concern its selector. LastModified is the creation time of the object. A caller
// that applies a changed unit must update LastModified with Modified.
func ActivateUnit(install string, o *v1alpha1.ActivateUnit) (library.Definition, []query.Warning, error) {
	d := definition(install, library.KindUnit, o)
	selector, warnings, err := selectorOf(library.KindUnit, o.Spec.Selector)
	if err != nil {
		return d, nil, err
	}
	catalogItem, err := freeJSON("spec.catalogItem", o.Spec.CatalogItem)
	if err != nil {
		return d, nil, err
	}
	imageSource, err := freeJSON("spec.catalogImageURLSrc", o.Spec.CatalogImageURLSrc)
	if err != nil {
		return d, nil, err
	}
	created := d.Created.Format(time.RFC3339)
	d.Unit = &library.UnitRule{
		Unit: item.Unit{
			ID:                  library.UnitID(d.Property, o.Namespace, o.Name),
			Name:                o.Spec.Name,
			ImageURL:            o.Spec.ImageURL,
			ClickThroughURL:     o.Spec.ClickThroughURL,
			CatalogItem:         catalogItem,
			CatalogImageURLSrc:  imageSource,
			ExternalID:          o.Spec.ExternalID,
			Archived:            o.Spec.Archived,
			Managed:             true,
			CreatedOn:           created,
			LastModified:        created,
			ClickUnitLibrary:    numberOr(o.Spec.ClickUnitLibrary, 1),
			ActivateUnitLibrary: numberOr(o.Spec.ActivateUnitLibrary, 1),
		},
		Default:  o.Spec.Default,
		Items:    o.Spec.Items,
		Selector: selector,
	}
	return d, warnings, nil
}

// Modified returns the unit definition next with another LastModified: that of stored if nothing else differs between the two, and now
// otherwise. Applying an unchanged unit again thus changes nothing.
func Modified(next library.Definition, stored *library.Definition, now time.Time) library.Definition {
	rule := *next.Unit
	next.Unit = &rule
	if stored == nil || stored.Unit == nil {
		return next
	}
	rule.Unit.LastModified = stored.Unit.Unit.LastModified
	if !same(next, *stored) {
		rule.Unit.LastModified = now.UTC().Format(time.RFC3339)
	}
	return next
}

// same reports whether two definitions are equal. A definition that cannot be encoded is not equal to any other; Apply reports the error.
func same(a, b library.Definition) bool {
	fa, errA := library.Fingerprint(a)
	fb, errB := library.Fingerprint(b)
	return errA == nil && errB == nil && fa == fb
}

// AccessToken translates an AccessToken. values are the token values that the server accepts for it, and filters are the UUIDs of
// spec.filters. The warnings concern its query.
func AccessToken(install string, o *v1alpha1.AccessToken, values []library.TokenValue, filters []string) (library.Definition, []query.Warning, error) {
	d := definition(install, library.KindToken, o)
	warnings, err := scopeOf("spec.query", o.Spec.Query)
	if err != nil {
		return d, nil, err
	}
	d.Token = &library.Token{ReadWrite: o.Spec.Class == v1alpha1.ReadWrite, Values: values, Query: o.Spec.Query}
	if o.Spec.Filters != nil {
		d.Token.Filters = append([]string{}, filters...)
	}
	if v1alpha1.Guest(o) {
		d.Token.Guest, d.Token.FilterNames = true, o.Spec.Filters
	}
	for _, a := range o.Spec.Allow {
		d.Token.Allow = append(d.Token.Allow, library.Action(a))
	}
	for _, s := range o.Spec.Subjects {
		d.Token.Subjects = append(d.Token.Subjects, library.Subject{User: s.User, Group: s.Group})
	}
	return d, warnings, nil
}

// maxWebhookName is the maximum length of the name of a Webhook whose Secret the operator writes: the name of that Secret is longer.
const maxWebhookName = 253 - len("-webhook")

// Webhook translates a Webhook. The warnings concern its query. FilterUUID is the UUID that the filter has unless its manifest adopts an
// existing filter.
func Webhook(install string, o *v1alpha1.Webhook) (library.Definition, []query.Warning, error) {
	d := definition(install, library.KindWebhook, o)
	sends := func(e v1alpha1.WebhookEvent) bool {
		return len(o.Spec.Events) == 0 || slices.Contains(o.Spec.Events, e)
	}
	w := &library.Webhook{
		URL: o.Spec.URL, Query: o.Spec.Query, Items: o.Spec.Payload == v1alpha1.PayloadPublicItem,
		Entered: sends(v1alpha1.Entered), Left: sends(v1alpha1.Left), Changed: sends(v1alpha1.Changed),
		MaxItems: 100, MaxDelay: time.Second,
	}
	if ref := o.Spec.FilterRef; ref != nil {
		w.FilterUUID, _ = library.FilterIDs(d.Property, library.KindFilter, o.Namespace, ref.Name)
	}
	if b := o.Spec.Batch; b != nil {
		if b.MaxItems != nil {
			w.MaxItems = int(*b.MaxItems)
		}
		if b.MaxDelay != nil {
			w.MaxDelay = b.MaxDelay.Duration
		}
	}
	d.Webhook = w
	if len(o.Name) > maxWebhookName && o.Spec.ExistingSecret == nil {
		err := fmt.Errorf("the name of the Secret would be too long: use at most %d characters, or set spec.existingSecret", maxWebhookName)
		return d, nil, &SpecError{v1alpha1.ReasonInvalidSpec, "metadata.name", err}
	}
	if w.Query == "" {
		return d, nil, nil
	}
	q, err := query.ParseFor(w.Query, query.Public)
	if private, ok := errors.AsType[*query.ForbiddenFieldError](err); ok {
		// The message of this error tells callers of the API which token they need.
		err = fmt.Errorf("field %.100q is private: use only public fields, because deliveries must not depend on private data", private.Field)
	}
	if err != nil {
		return d, nil, &SpecError{v1alpha1.ReasonInvalidQuery, "spec.query", err}
	}
	return d, q.Warnings, nil
}

// scopeOf checks the query of a scope, which is "" if there is none. member is its path.
func scopeOf(member, text string) ([]query.Warning, error) {
	if text == "" {
		return nil, nil
	}
	q, err := query.ParseFor(text, query.Private)
	if err != nil {
		return nil, &SpecError{v1alpha1.ReasonInvalidQuery, member, err}
	}
	return q.Warnings, nil
}

func selectorOf(kind library.Kind, s *v1alpha1.Selector) (string, []query.Warning, error) {
	if s == nil {
		return "", nil, nil
	}
	_, warnings, err := library.ParseSelector(kind, s.Query)
	if err != nil {
		return "", nil, &SpecError{v1alpha1.ReasonInvalidQuery, "spec.selector.query", err}
	}
	return s.Query, warnings, nil
}

// freeJSON reads a free JSON member of an ActivateUnit. It applies the same limits as to free JSON in an import, because every response
// contains this JSON in each item that has the unit.
func freeJSON(member string, j *v1alpha1.JSON) ([]byte, error) {
	if j == nil || len(j.Raw) == 0 || string(j.Raw) == "null" {
		return nil, nil
	}
	if len(j.Raw) > item.MaxRaw {
		return nil, &SpecError{v1alpha1.ReasonInvalidSpec, member, fmt.Errorf("%d bytes of JSON exceed the limit of %d", len(j.Raw), item.MaxRaw)}
	}
	if n := item.Nesting(j.Raw); n > maxNesting {
		return nil, &SpecError{v1alpha1.ReasonInvalidSpec, member, fmt.Errorf("%d levels of JSON nesting exceed the limit of %d", n, maxNesting)}
	}
	return j.Raw, nil
}

func numberOr(n *int64, otherwise int64) int64 {
	if n == nil {
		return otherwise
	}
	return *n
}
