// Package filterdiff finds which items a changed ContentFilter would show that the served one does not, and the reverse. It sends a
// server queries that combine both, so that it changes nothing.
//
// It may import server/client and the domain.
package filterdiff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// compared is the number of first items whose order is compared.
const compared = 100

// States of a filter.
const (
	New       = "new"
	Changed   = "changed"
	Unchanged = "unchanged"
	// Suspended means that the manifest sets spec.suspend, so that its other changes have no effect.
	Suspended = "suspended"
	// Failed means that the server could not answer.
	Failed = "failed"
)

// Change is the effect of a manifest on one filter.
type Change struct {
	// Filter is the namespace/name of the filter.
	Filter string `json:"filter"`
	State  string `json:"state"`
	// Before is nil for a new filter.
	Before *Version `json:"before,omitempty"`
	After  Version  `json:"after"`
	// Enter and Leave are the items that only the new or only the served version shows, in the order of that version.
	Enter Items `json:"enter"`
	Leave Items `json:"leave"`
	// Reordered is true if the sort orders differ, or if the first 100 items of both versions have another order. The latter can
	// result from another favorite tag or, with a sort by relevance, from another query.
	Reordered bool `json:"reordered"`
	// Problem is why the server could not answer.
	Problem string `json:"problem,omitempty"`
}

// Version is a filter as it is served or as it would be served.
type Version struct {
	Query string `json:"query"`
	Order string `json:"order"`
	Total int64  `json:"total"`
}

// Items are some items of a listing.
type Items struct {
	Total int64  `json:"total"`
	First []Item `json:"first"`
}

// Item is the part of an item to report. It contains nothing about the submitter.
type Item struct {
	ID          item.ID `json:"id"`
	ContentType string  `json:"content_type"`
	CreatedOn   string  `json:"created_on"`
	Text        string  `json:"text"`
}

// Server is the server to query: *client.Client with a READ-WRITE token implements it.
type Server interface {
	Filter(ctx context.Context, filter string) (client.Filter, error)
	CountItems(ctx context.Context, query string) (int64, error)
	ListItems(ctx context.Context, query string, l client.Listing) iter.Seq2[client.Item, error]
	FilterItems(ctx context.Context, filter string, l client.Listing) iter.Seq2[client.Item, error]
}

// Compare queries server for the effect of the valid filter definition d. It lists at most first entering and first leaving items.
// An error that concerns only this filter is in Problem. The returned error would occur for every filter.
func Compare(ctx context.Context, server Server, d library.Definition, first int) (Change, error) {
	c := Change{Filter: d.Owner.Namespace + "/" + d.Owner.Name, State: New}
	err := c.compare(ctx, server, d.Filter, first)
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusBadRequest {
		c.State, c.Problem, err = Failed, problem.Error(), nil
	}
	return c, err
}

func (c *Change) compare(ctx context.Context, server Server, f *library.Filter, first int) error {
	next, err := query.ParseFor(f.Query, query.Private)
	if err != nil {
		return fmt.Errorf("parse the query: %w", err)
	}
	order, err := canonical(f.Order)
	if err != nil {
		return err
	}
	c.After = Version{Query: f.Query, Order: order}
	if c.After.Total, err = server.CountItems(ctx, f.Query); err != nil {
		return fmt.Errorf("count the items: %w", err)
	}
	ref := cmp.Or(f.UUID, strconv.FormatInt(f.ID, 10))
	served, err := server.Filter(ctx, ref)
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusNotFound {
		c.Enter.Total = c.After.Total
		c.Enter.First, err = list(server.ListItems(ctx, f.Query, sorted(order, first)), first)
		return err
	}
	if err != nil {
		return fmt.Errorf("read the served filter: %w", err)
	}
	c.State = Unchanged
	c.Before = &Version{Query: served.Query, Order: served.SortBy, Total: served.TotalResults}
	before, err := query.ParseFor(served.Query, query.Private)
	if err != nil {
		return fmt.Errorf("parse the served query: %w", err)
	}
	if c.Before.Order, err = canonical(served.SortBy); err != nil {
		return err
	}
	if before.Root.String() != next.Root.String() {
		c.State = Changed
		if c.Enter, err = only(ctx, server, next.Root, before.Root, c.After.Order, first); err != nil {
			return err
		}
		if c.Leave, err = only(ctx, server, before.Root, next.Root, c.Before.Order, first); err != nil {
			return err
		}
	}
	if c.Reordered, err = c.reordered(ctx, server, ref, f); err != nil {
		return err
	}
	if c.Reordered || c.Before.Query != c.After.Query {
		c.State = Changed
	}
	return nil
}

// canonical returns the canonical form of a sort order.
func canonical(order string) (string, error) {
	o, err := query.ParseOrder(cmp.Or(order, library.DefaultOrder))
	if err != nil {
		return "", fmt.Errorf("parse the order: %w", err)
	}
	return o.String(), nil
}

// only returns the items that match this query and not the other.
func only(ctx context.Context, server Server, this, other query.Node, order string, first int) (Items, error) {
	q := query.Bool{Clauses: []query.Clause{{Occur: query.Must, Node: this}, {Occur: query.MustNot, Node: other}}}.String()
	total, err := server.CountItems(ctx, q)
	if err != nil || total == 0 {
		return Items{}, err
	}
	items, err := list(server.ListItems(ctx, q, sorted(order, first)), first)
	return Items{Total: total, First: items}, err
}

// sorted returns a listing in an order. It replaces the random order, which would differ in every report.
func sorted(order string, size int) client.Listing {
	if order == query.RandomKey {
		order = library.DefaultOrder
	}
	return client.Listing{SortBy: order, PageSize: max(size, 1)}
}

func (c *Change) reordered(ctx context.Context, server Server, ref string, f *library.Filter) (bool, error) {
	if c.Before.Order != c.After.Order {
		return true, nil
	}
	if c.After.Order == query.RandomKey {
		return false, nil
	}
	was, err := list(server.FilterItems(ctx, ref, client.Listing{PageSize: compared}), compared)
	if err != nil {
		return false, err
	}
	listing := sorted(c.After.Order, compared)
	if t := f.Favourite; t != nil {
		listing.FavoriteTag = t.Namespace + ":" + t.Key
	}
	is, err := list(server.ListItems(ctx, f.Query, listing), compared)
	if err != nil {
		return false, err
	}
	return !slices.Equal(common(was, is), common(is, was)), nil
}

// common returns the ids of a that are also in b, in the order of a.
func common(a, b []Item) []item.ID {
	in := map[item.ID]bool{}
	for _, i := range b {
		in[i.ID] = true
	}
	var ids []item.ID
	for _, i := range a {
		if in[i.ID] {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

func list(items iter.Seq2[client.Item, error], n int) ([]Item, error) {
	var all []Item
	if n == 0 {
		return nil, nil
	}
	for i, err := range items {
		if err != nil {
			return nil, fmt.Errorf("list the items: %w", err)
		}
		all = append(all, Item{ID: i.ID, ContentType: i.Content.ContentType, CreatedOn: i.CreatedOn, Text: i.Content.Text})
		if len(all) == n {
			break
		}
	}
	return all, nil
}
