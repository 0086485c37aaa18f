// Package filterdiff reports the items that a changed ContentFilter would add to the served filter or remove from it. It asks the server to
// compare the two versions. The comparison changes nothing.
//
// It may import server/client and the domain.
package filterdiff

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// States of a filter.
const (
	New       = "new"
	Changed   = "changed"
	Unchanged = "unchanged"
	// Suspended means that the manifest sets spec.suspend, so that its other changes have no effect.
	Suspended = "suspended"
	// Failed means that the server rejected the comparison.
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
	// Enter contains the items that only the new version shows, and Leave contains the items that only the served version shows. Each list
	// is sorted in the order of its version.
	Enter Items `json:"enter"`
	Leave Items `json:"leave"`
	// Reordered is true if the sort orders of the versions differ, or if the relative order of the first 100 items that both versions
	// contain changes. This order can change because the favorite tag differs or, for an order by relevance, because the query differs.
	Reordered bool `json:"reordered"`
	// Problem is the reason why the server rejected the comparison; "" unless State is Failed.
	Problem string `json:"problem,omitempty"`
}

// Version is the served or the new version of a filter.
type Version struct {
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

// Compare asks server for the effect of the valid filter definition d. first is the maximum number of items to list in Enter and in Leave.
// If the server rejects the comparison because of this filter, Compare returns the reason in Problem. If Compare returns an error, the
// cause does not depend on the filter.
func Compare(ctx context.Context, server Server, d library.Definition, first int) (Change, error) {
	c := Change{Filter: d.Owner.Namespace + "/" + d.Owner.Name, State: New}
	f := d.Filter
	to := client.Change{
		FromFilter: cmp.Or(f.UUID, strconv.FormatInt(f.ID, 10)), To: client.Version{Query: f.Query, SortBy: f.Order}, Size: first,
	}
	if t := f.Favourite; t != nil {
		to.To.FavoriteTag = t.Namespace + ":" + t.Key
	}
	effect, err := server.Compare(ctx, to)
	if statusOf(err) == http.StatusNotFound {
		to.FromFilter = ""
		effect, err = server.Compare(ctx, to)
	}
	if statusOf(err) == http.StatusBadRequest {
		c.State, c.Problem = Failed, err.Error()
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.After = Version{f.Query, effect.After.SortBy, effect.After.FavoriteTag, effect.After.Total}
	c.Enter, c.Leave = some(effect.Entering), some(effect.Leaving)
	if b := effect.Before; b != nil {
		c.Before = &Version{b.Query, b.SortBy, b.FavoriteTag, b.Total}
		c.Reordered = c.Before.Order != c.After.Order || effect.Moving.Total > 0
		if c.State = Unchanged; c.Reordered || c.Before.Query != c.After.Query || c.Before.FavoriteTag != c.After.FavoriteTag {
			c.State = Changed
		}
	}
	return c, nil
}

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
