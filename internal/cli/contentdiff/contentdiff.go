// Package contentdiff reports which items the filters and the tokens' scopes in manifests would show that the served ones hide, and the
// reverse. It asks the server to compare the queries. The comparison changes nothing.
//
// It may import server/client and the domain.
package contentdiff

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// States of a change.
const (
	New       = "new"
	Changed   = "changed"
	Unchanged = "unchanged"
	// Suspended means that the manifest sets spec.suspend, so that its other changes have no effect.
	Suspended = "suspended"
	// Failed means that the versions could not be compared.
	Failed = "failed"
)

// Manifest is what the manifest of a filter, a token or a property declares.
type Manifest struct {
	// Definition is valid, unless Suspended is true.
	Definition library.Definition
	Suspended  bool
}

// Change is the effect of a manifest on a filter, or on what tokens read.
type Change struct {
	// Kind is ContentFilter, AccessToken for the scope of a token, or Property for the scope of the property's READ-ONLY tokens without a
	// query of their own.
	Kind string `json:"kind"`
	// Name is the namespace/name of the object.
	Name  string `json:"name"`
	State string `json:"state"`
	// Before is nil for a new object.
	Before *Version `json:"before,omitempty"`
	After  Version  `json:"after"`
	// Enter contains the items that only the new version shows, and Leave contains the items that only the served version shows. Each list
	// is sorted in the order of its version.
	Enter Items `json:"enter"`
	Leave Items `json:"leave"`
	// Reordered is true if the sort orders of the versions differ, or if the relative order of the first 100 items that both versions
	// contain changes. This order can change because the favorite tag differs or, for an order by relevance, because the query differs.
	Reordered bool `json:"reordered"`
	// Problem is the reason why the versions could not be compared; "" unless State is Failed.
	Problem string `json:"problem,omitempty"`
	// Link is the URL of the comparison in the console. It is set for new and changed filters if Options.Console is set, unless it is longer
	// than maxLink.
	Link string `json:"link,omitempty"`
}

// Version is the served or the new version of a filter or of a scope.
type Version struct {
	// Query is *:* for a scope without a query.
	Query string `json:"query"`
	Order string `json:"order"`
	// FavoriteTag is the tag whose items come first, as namespace:key, or "" if there is none.
	FavoriteTag string `json:"favorite_tag,omitempty"`
	Total       int64  `json:"total"`
}

// Items contains the first items of a listing, and their total number.
type Items struct {
	Total int64  `json:"total"`
	First []Item `json:"first"`
}

// Item contains the fields of an item that the report shows. None of these fields contains data about the submitter.
type Item struct {
	ID          item.ID `json:"id"`
	ContentType string  `json:"content_type"`
	CreatedOn   string  `json:"created_on"`
	Text        string  `json:"text"`
}

// Server is the server that compares the versions: *client.Client with a READ-WRITE token implements it.
type Server interface {
	Compare(ctx context.Context, change client.Change) (client.Comparison, error)
}

// maxLink is the maximum length of a link. The links of a report must fit into a comment on a pull request.
const maxLink = 4000

// Options says what Compare reports.
type Options struct {
	// First is the maximum number of items to list in Enter and in Leave.
	First int
	// Console is the URL of the server whose console shows the comparisons, or nil for no links.
	Console *url.URL
}

// Compare asks server for the effect of manifests of one property, whose served state is served. The result contains the filters, the
// Property and the tokens, each by name. It does not contain a token whose scope changes only as that of the Property does.
//
// If the versions of an object cannot be compared, Compare returns the reason in Problem. If Compare returns an error, the cause does not
// depend on the object.
func Compare(ctx context.Context, server Server, served client.Status, manifests []Manifest, o Options) ([]Change, error) {
	manifests = slices.SortedFunc(slices.Values(manifests), func(a, b Manifest) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(nameOf(a), nameOf(b)))
	})
	c, changes := comparison{server, served, served.ReadOnlyScope, o}, []Change{}
	for _, m := range manifests {
		change, err := c.compare(ctx, m)
		if err != nil {
			return nil, err
		}
		if change != nil {
			changes = append(changes, *change)
		}
	}
	return changes, nil
}

// rank returns the position of the kind of a manifest in the result.
func rank(m Manifest) int {
	return slices.Index([]library.Kind{library.KindFilter, library.KindProperty, library.KindToken}, m.Definition.Owner.Kind)
}

func nameOf(m Manifest) string { return m.Definition.Owner.Namespace + "/" + m.Definition.Owner.Name }

// comparison compares the manifests of one property with its served state.
type comparison struct {
	server Server
	served client.Status
	// readOnly is the new scope of the READ-ONLY tokens without a query of their own.
	readOnly client.Scope
	Options
}

// compare returns the effect of a manifest. It returns nil for a token whose scope changes only as that of the Property does.
func (c *comparison) compare(ctx context.Context, m Manifest) (*Change, error) {
	d := m.Definition
	change := &Change{Kind: d.Owner.Kind.String(), Name: nameOf(m), State: New}
	switch {
	case m.Suspended:
		change.State = Suspended
		return change, nil
	case d.Filter != nil:
		return change, c.filter(ctx, change, d.Filter)
	case d.PropertySpec != nil:
		c.readOnly = client.Scope{Query: d.PropertySpec.ReadOnlyQuery}
		return change, c.scope(ctx, change, &c.served.ReadOnlyScope, c.readOnly)
	}
	next, err := c.next(d.Token)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.served.Tokens, func(t client.TokenStatus) bool {
		return t.Namespace == d.Owner.Namespace && t.Name == d.Owner.Name
	})
	if i < 0 {
		return change, c.scope(ctx, change, nil, next)
	}
	before := c.served.Tokens[i].Scope
	if before != next && before == c.served.ReadOnlyScope && next == c.readOnly {
		return nil, nil
	}
	return change, c.scope(ctx, change, &before, next)
}

// next returns the new scope of a token, in the form in which the server shows a scope.
func (c *comparison) next(t *library.Token) (client.Scope, error) {
	queries := t.ScopeQueries(c.readOnly.Query)
	switch {
	case !t.ReadWrite && (t.Query == "" || t.Guest) && c.readOnly.QueryHidden:
		return c.readOnly, nil
	case queries[0] == "" || queries[1] == "":
		return client.Scope{Query: queries[0] + queries[1]}, nil
	}
	both, err := library.ParseTokenScope(queries[:]...)
	return client.Scope{Query: both.String()}, err
}

// everything is the query that selects the items of a scope without a query.
const everything = "*:*"

// hidden is the problem of a scope whose served query the server does not show.
const hidden = "the served query uses private fields, which the token of this command may not read: use a token that allows ReadPrivate"

// scope compares the served scope with the next one. before is nil for a new token.
func (c *comparison) scope(ctx context.Context, change *Change, before *client.Scope, next client.Scope) error {
	if next.QueryHidden || before != nil && before.QueryHidden {
		change.State, change.Problem = Failed, hidden
		return nil
	}
	to := client.Change{To: client.Version{Query: cmp.Or(next.Query, everything)}, Size: c.First}
	if before != nil {
		to.From.Query = cmp.Or(before.Query, everything)
	}
	effect, err := c.server.Compare(ctx, to)
	return change.set(effect, err)
}

// filter compares the served version of a filter with the new one.
func (c *comparison) filter(ctx context.Context, change *Change, f *library.Filter) error {
	to := client.Change{
		FromFilter: cmp.Or(f.UUID, strconv.FormatInt(f.ID, 10)), To: client.Version{Query: f.Query, SortBy: f.Order}, Size: c.First,
	}
	if t := f.Favourite; t != nil {
		to.To.FavoriteTag = t.Namespace + ":" + t.Key
	}
	effect, err := c.server.Compare(ctx, to)
	if statusOf(err) == http.StatusNotFound {
		to.FromFilter = ""
		effect, err = c.server.Compare(ctx, to)
	}
	if err := change.set(effect, err); err != nil {
		return err
	}
	if c.Console != nil && (change.State == New || change.State == Changed) {
		change.Link = c.link(to, f)
	}
	return nil
}

// link returns the URL of a comparison in the console, or "" if it is too long.
func (c *comparison) link(to client.Change, f *library.Filter) string {
	values := url.Values{}
	var without []string
	// The editor of the console fills in the values of the served filter, except those that the link says are empty.
	for _, field := range [][2]string{{"name", f.Name}, {"q", f.Query}, {"sort_by", f.Order}, {"favorite_tag", to.To.FavoriteTag}, {"read", map[bool]string{true: "ReadOnly"}[f.Public]}} {
		if field[1] != "" {
			values.Set(field[0], field[1])
		} else {
			without = append(without, field[0])
		}
	}
	if to.FromFilter != "" {
		values.Set("from", to.FromFilter)
		values.Set("without", strings.Join(without, ","))
	}
	link := c.Console.ResolveReference(&url.URL{Path: "/console/filters/edit", RawQuery: values.Encode()}).String()
	if len(link) > maxLink {
		return ""
	}
	return link
}

// set records the response of the server. It returns err if the cause does not depend on the object: an invalid query, or one with private
// fields that the client's token may not read, does.
func (c *Change) set(effect client.Comparison, err error) error {
	switch statusOf(err) {
	case http.StatusBadRequest, http.StatusForbidden:
		c.State, c.Problem = Failed, err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	c.After = versionOf(effect.After)
	c.Enter, c.Leave = some(effect.Entering), some(effect.Leaving)
	if b := effect.Before; b != nil {
		c.Before = new(versionOf(*b))
		c.Reordered = c.Before.Order != c.After.Order || effect.Moving.Total > 0
		if c.State = Unchanged; c.Reordered || c.Before.Query != c.After.Query || c.Before.FavoriteTag != c.After.FavoriteTag {
			c.State = Changed
		}
	}
	return nil
}

func versionOf(v client.Version) Version { return Version{v.Query, v.SortBy, v.FavoriteTag, v.Total} }

// statusOf returns the status of a problem that the server reported, or 0.
func statusOf(err error) int {
	if problem := (*client.Problem)(nil); errors.As(err, &problem) {
		return problem.Status
	}
	return 0
}

func some(items client.ComparedItems) Items {
	out := Items{Total: items.Total}
	for _, i := range items.Items {
		out.First = append(out.First, Item{ID: i.ID, ContentType: i.Content.ContentType, CreatedOn: i.CreatedOn, Text: i.Content.Text})
	}
	return out
}
