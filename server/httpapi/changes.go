package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/vitrine-dev/vitrine/server/coding"
	"github.com/vitrine-dev/vitrine/server/feed"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
)

const (
	// changesPageSize and maxChangesPageSize are the page sizes of the changes of a listing.
	changesPageSize    = 100
	maxChangesPageSize = 500
	// maxWaitSeconds is the maximum of the parameter wait. Proxies often cut off a request after 60 s without a byte of the response.
	maxWaitSeconds = 60
)

// These are the values of the member change.
const (
	changeUpsert = "upsert"
	changeRemove = "remove"
)

// itemChange is an item that has changed.
type itemChange struct {
	ID     item.ID         `json:"id"`
	Change string          `json:"change"`
	Item   json.RawMessage `json:"item,omitempty"`
}

// listChanges answers GET /v2/content/changes (extension) with the changes of the items of a filter or a query since a cursor. It can wait
// for a change.
func (s *Server) listChanges(x *exchange) error {
	size, err := x.number("page_size", changesPageSize, 1, maxChangesPageSize)
	if err != nil {
		return err
	}
	wait, err := x.number("wait", 0, 0, maxWaitSeconds)
	if err != nil {
		return err
	}
	r := feed.Request{Limit: int(size), Wait: time.Duration(wait) * time.Second}
	if r.Since, err = x.optional("since"); err != nil {
		return err
	}
	followed, err := x.followed()
	if err != nil {
		return err
	}
	if r.Wait > 0 {
		done, err := x.beginWait(r.Wait)
		if err != nil {
			return err
		}
		defer done()
	}
	var read library.Read
	again := false
	r.Listing = func() (feed.Listing, error) {
		if again {
			if err := x.admitAgain(); err != nil {
				return feed.Listing{}, err
			}
		}
		again = true
		read, err = followed()
		return feed.Listing{Read: read, Narrowed: x.narrowed()}, err
	}
	r.Run = func(search func(context.Context) error) error {
		switch {
		case read.Query == nil:
			return search(x.r.Context())
		case r.Wait > 0:
			return x.inTurn(search)
		}
		return x.budgeted(search)
	}
	page, err := s.feed.Read(x.r.Context(), r)
	if errors.As(err, new(*library.CursorError)) {
		return &problem{
			Type: problems.CursorUnusable, Parameter: "since",
			Detail: `the cursor does not belong to this filter or query: begin again without "since"`,
		}
	}
	if err != nil {
		return hideStored(err, read)
	}
	return x.showChanges(page)
}

// followed returns a function that returns a Read for the items of the filter or the query of the request, as the caller may see them at the
// time of the call. Exactly one of the two parameters is required.
func (x *exchange) followed() (func() (library.Read, error), error) {
	name, err := x.optional("filter")
	if err != nil {
		return nil, err
	}
	text, err := x.optional("q")
	switch {
	case err != nil:
		return nil, err
	case name != "" && text != "":
		return nil, invalid("q", `excludes "filter": send only one of them`)
	case name != "":
		return func() (library.Read, error) {
			f, err := x.readableFilter(name)
			return x.seen(library.Read{Filter: &library.FilterRef{UUID: f.UUID}}), err
		}, nil
	case text == "":
		return nil, missing("filter")
	}
	// Parse the query only for tokens that may send one.
	if err := x.needsAllItems(); err != nil {
		return nil, err
	}
	root, err := x.queryParam("q")
	return func() (library.Read, error) {
		return x.seen(library.Read{Query: root}), x.needsAllItems()
	}, err
}

// admitAgain repeats the checks of a request that has waited. The rights of the token can have changed meanwhile.
func (x *exchange) admitAgain() error {
	if err := x.authenticate(); err != nil {
		return err
	}
	if m := x.settings.Maintenance; m != nil {
		return underMaintenance(m)
	}
	return nil
}

// beginWait takes one of the token's slots for requests that wait, and makes the connection outlast the wait. The function done releases the
// slot.
func (x *exchange) beginWait(d time.Duration) (done func(), err error) {
	if done, err = x.grant.allowance.hold(&x.grant.allowance.waits, x.server.options.WaitsPerToken, "waiting requests: wait for one to end, or send wait=0"); err != nil {
		return nil, err
	}
	// The deadline for reading would end the request, although the server no longer reads. An error means that the connection has no deadlines.
	conn, until := http.NewResponseController(x), time.Now().Add(d+x.server.options.StreamIdle)
	_, _ = conn.SetReadDeadline(until), conn.SetWriteDeadline(until)
	return done, nil
}

// showChanges answers with a page of changes.
func (x *exchange) showChanges(page *feed.Page) error {
	defer x.release()
	changes, bytes := make([]itemChange, len(page.Changes)), 0
	for i, c := range page.Changes {
		changes[i] = itemChange{ID: c.ID, Change: changeRemove}
		if c.In {
			changes[i].Change, changes[i].Item = changeUpsert, c.Item
		}
		bytes += len(c.Item)
	}
	if err := x.reserve("page_size", bytes); err != nil {
		return err
	}
	to := links{self: x.linkHere(), next: x.linkHere(change{"since", page.Next})}
	body := marshal(struct {
		Reset    bool  `json:"reset"`
		More     bool  `json:"more"`
		Total    int64 `json:"total_results"`
		Embedded struct {
			Changes []itemChange `json:"changes"`
		} `json:"_embedded"`
		Links links `json:"_links"`
	}{page.Reset, page.More, page.Total, struct {
		Changes []itemChange `json:"changes"`
	}{changes}, to})
	x.warn()
	to.announce(x)
	x.set("Cache-Control", "private, no-store")
	if x.server.draining.Load() {
		x.set("Connection", "close")
	}
	zip := coding.Gzip(x.r.Header)
	if zip {
		body = x.server.gzip.compress(nil, body)
	}
	x.send(body, zip)
	return nil
}
