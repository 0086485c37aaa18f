package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Following selects what Changes follows (extension). Exactly one of Filter and Query is required.
type Following struct {
	// Filter is a filter's UUID or numeric id.
	Filter string
	Query  string
	// Since is the Cursor of an earlier page. If it is "", Changes begins with a reset.
	Since string
	// Wait is the time that the server waits for a change, in whole seconds, up to a minute. If it is 0, Changes ends when no change is left.
	// Otherwise it continues until ctx ends, and retries after failures until the server responds again.
	Wait time.Duration
	// PageSize is the maximum number of changes or items in one response, from 1 to 500. 0 means 500.
	PageSize int
	// List lists all items after each reset, as changes.
	List bool
	// Retrying, if not nil, is called when the server does not respond although Changes has repeated the request, with the delay before the
	// next attempt.
	Retrying func(err error, in time.Duration)
}

// ChangePage is a part of the changes of a listing.
type ChangePage struct {
	// Reset means that everything before is void: the items are those that follow if Following.List is set, and otherwise those that the
	// caller lists before it requests the next page.
	Reset   bool
	Changes []ItemChange
	// Cursor continues after this page (see Following.Since). It is "" while the items after a reset are incomplete: continue from an earlier
	// Cursor then.
	Cursor string
}

// ItemChange is an item that has changed.
type ItemChange struct {
	ID item.ID
	// Removed is true if the item is not in the listing. It may never have been there.
	Removed bool
	// Item is the item as JSON, or nil if Removed is true.
	Item json.RawMessage
}

// minPoll is the minimum time between two requests for changes if the server responds without a change before the end of its wait, as a
// server that is stopping does.
const minPoll = time.Second

// Changes yields the changes of a listing (extension). A caller that applies them has the same items as the listing. The first error ends the
// sequence.
func (c *Client) Changes(ctx context.Context, f Following) iter.Seq2[ChangePage, error] {
	return func(yield func(ChangePage, error) bool) {
		v := f.values()
		v.Set("wait", strconv.Itoa(int(f.Wait/time.Second)))
		if f.Since != "" {
			v.Set("since", f.Since)
		}
		for {
			began := time.Now()
			got, err := c.changes(ctx, f, v)
			if err != nil {
				yield(ChangePage{}, err)
				return
			}
			page := ChangePage{Reset: got.Reset, Changes: make([]ItemChange, len(got.Embedded.Changes)), Cursor: got.cursor}
			for i, change := range got.Embedded.Changes {
				page.Changes[i] = ItemChange{ID: change.ID, Removed: change.Change != "upsert", Item: change.Item}
			}
			v.Set("since", page.Cursor)
			if page.Reset && f.List {
				if !c.list(ctx, f, page.Cursor, yield) {
					return
				}
			} else if !yield(page, nil) {
				return
			}
			idle := len(page.Changes) == 0 && !page.Reset && !got.More
			if idle && f.Wait == 0 {
				return
			}
			if early := minPoll - time.Since(began); idle && early > 0 {
				if c.wait(ctx, early) != nil {
					yield(ChangePage{}, context.Cause(ctx))
					return
				}
			}
		}
	}
}

// values returns the parameters that select the listing.
func (f Following) values() url.Values {
	v := url.Values{"page_size": {strconv.Itoa(cmp.Or(f.PageSize, 500))}}
	if f.Filter != "" {
		v.Set("filter", f.Filter)
	}
	if f.Query != "" {
		v.Set("q", f.Query)
	}
	return v
}

// changeList is the response to a request for changes.
type changeList struct {
	Reset    bool `json:"reset"`
	More     bool `json:"more"`
	Embedded struct {
		Changes []struct {
			ID     item.ID         `json:"id"`
			Change string          `json:"change"`
			Item   json.RawMessage `json:"item"`
		} `json:"changes"`
	} `json:"_embedded"`
	Links struct {
		Next struct {
			Href string `json:"href"`
		} `json:"next"`
	} `json:"_links"`
	cursor string
}

// changes requests one page of changes.
func (c *Client) changes(ctx context.Context, f Following, v url.Values) (changeList, error) {
	var got changeList
	if err := c.persist(ctx, f, "/v2/content/changes", v, &got); err != nil {
		return got, err
	}
	_, next, err := c.follow(got.Links.Next.Href)
	if got.cursor = next.Get("since"); err == nil && got.cursor == "" {
		err = errors.New("the server sent a page of changes without a cursor")
	}
	return got, err
}

// list yields a reset and then all items of the listing. It reports whether the caller wants more.
func (c *Client) list(ctx context.Context, f Following, cursor string, yield func(ChangePage, error) bool) bool {
	p, v := path("v2", "content", "items"), f.values()
	if f.Filter != "" {
		p = path("v2", "content", "filters", f.Filter)
		v.Del("filter")
	}
	// The default order of a query changes with the scores of the items, and then a list can repeat or skip some.
	v.Set("sort_by", "id:asc")
	for page := (ChangePage{Reset: true}); ; page = (ChangePage{}) {
		var got struct {
			Embedded struct {
				Items []json.RawMessage `json:"ugc:item"`
			} `json:"_embedded"`
			Links struct {
				Next struct {
					Href string `json:"href"`
				} `json:"next"`
			} `json:"_links"`
		}
		if err := c.persist(ctx, f, p, v, &got); err != nil {
			return yield(ChangePage{}, err) && false
		}
		for _, raw := range got.Embedded.Items {
			var it struct {
				ID item.ID `json:"id"`
			}
			if err := json.Unmarshal(raw, &it); err != nil {
				return yield(ChangePage{}, fmt.Errorf("read the response to GET %s: %w", p, err)) && false
			}
			page.Changes = append(page.Changes, ItemChange{ID: it.ID, Item: raw})
		}
		last := got.Links.Next.Href == ""
		if last {
			page.Cursor = cursor
		}
		if !yield(page, nil) {
			return false
		}
		if last {
			return true
		}
		var err error
		if p, v, err = c.follow(got.Links.Next.Href); err != nil {
			return yield(ChangePage{}, err) && false
		}
	}
}

// persist is like get, but if the caller waits for changes, it retries until the server responds or ctx ends, also if the connection breaks
// in the middle of a response.
func (c *Client) persist(ctx context.Context, f Following, p string, v url.Values, out any) error {
	for attempt := 1; ; attempt++ {
		err := c.get(ctx, p, v, out)
		if err == nil || f.Wait == 0 || ctx.Err() != nil || fateOf(err) == final && !brokeOff(err) {
			return err
		}
		d := pause(attempts+attempt, err)
		if f.Retrying != nil {
			f.Retrying(err, d)
		}
		if c.wait(ctx, d) != nil {
			return err
		}
	}
}

// brokeOff reports whether a connection broke in the middle of a response.
func brokeOff(err error) bool {
	return errors.Is(err, errBroken) || errors.Is(err, io.ErrUnexpectedEOF)
}
