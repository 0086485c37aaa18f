package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
)

// These are the page sizes of lists of items (specification, Limits). The specification does not set the maximum.
const (
	itemPageSize    = 50
	maxItemPageSize = 500
)

// itemMember is the name of the member with the array of items (specification, Item list response).
const itemMember = "ugc:item"

// listItems answers GET /v2/content/items (specification, Content queries).
func (s *Server) listItems(x *exchange) error {
	if _, err := x.required("q"); err != nil {
		return err
	}
	var l listing
	var err error
	if l.read.Query, err = x.queryParam("q"); err != nil {
		return err
	}
	if err := x.presentation(&l.read); err != nil {
		return err
	}
	l.random = l.read.Order.Random()
	l.adHoc, l.name, l.defaultSize, l.maxSize = true, itemMember, itemPageSize, maxItemPageSize
	return x.list(l)
}

// presentation reads the parameters that listItems and listFilterItems share: sort_by, favorite_tag and seed.
func (x *exchange) presentation(r *library.Read) error {
	var err error
	if r.Order, err = x.orderParam("sort_by"); err != nil {
		return err
	}
	if r.Favourite, err = x.favouriteParam("favorite_tag"); err != nil {
		return err
	}
	r.Seed, err = x.seed(true)
	return err
}

// addItem answers POST /v2/content/ (specification, Adding content).
func (s *Server) addItem(x *exchange) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	it, err := item.ParseAdd(body, s.parseOptions())
	if err != nil {
		return err
	}
	if it.ApprovalStatus != item.Pending {
		if err := x.need(library.Moderate, `an approval_status other than "pen"`); err != nil {
			return err
		}
	}
	if len(it.Tags) > 0 {
		if err := x.need(library.TagItems, "an item with tags"); err != nil {
			return err
		}
	}
	out, err := x.change(library.Mutation{Put: it})
	if err != nil {
		return err
	}
	x.Header().Set("Location", x.linkTo("/v1/ugc/"+strconv.FormatInt(out.ID, 10)+"/"))
	shown, err := x.readItem(x.r.Context(), out.ID)
	if errors.Is(err, library.ErrNotFound) {
		// The item was created, but another request has already deleted it, or it is outside the scope of the token. Answer with its content.
		it.ID = out.ID
		shown, err = item.Encode(it).Append(nil, x.audience(), item.Slots{BaseURL: x.baseURL()}), nil
	}
	if err != nil {
		return err
	}
	return x.doneItem(http.StatusCreated, shown)
}

func (s *Server) parseOptions() item.ParseOptions {
	return item.ParseOptions{Now: s.options.Clock(), AuthorKey: s.lib.AuthorKey(), Rand: s.options.Rand}
}

// change writes one mutation, and logs it.
func (x *exchange) change(m library.Mutation) (library.Outcome, error) {
	m.By = x.actor()
	outcomes, err := x.server.lib.Write(x.r.Context(), x.grant.property, []library.Mutation{m})
	if err != nil {
		return library.Outcome{}, err
	}
	if outcomes[0].Err == nil {
		x.auditMutation(m, outcomes[0].ID)
	}
	return outcomes[0], outcomes[0].Err
}

// getItem answers GET /v2/content/{id} (extension).
func (s *Server) getItem(x *exchange) error { return x.showOne("id") }

// showOne answers with the item whose id is in a segment of the path.
func (x *exchange) showOne(segment string) error {
	id, err := x.pathNumber(segment)
	if err != nil {
		return err
	}
	shown, err := x.readItem(x.r.Context(), id)
	if err != nil {
		return orNoItem(err, id)
	}
	x.shown.item = id
	return x.show(shown)
}

// patchItem answers PATCH /v2/content/{id} (extension).
func (s *Server) patchItem(x *exchange) error {
	id, err := x.pathNumber("id")
	if err != nil {
		return err
	}
	body, err := x.body()
	if err != nil {
		return err
	}
	patch, err := item.ParsePatch(body)
	if err != nil {
		return err
	}
	if patch.Private() {
		if err := x.need(library.ReadPrivate, "a change of a private member"); err != nil {
			return err
		}
	}
	reason, err := x.reason()
	if err != nil {
		return err
	}
	if reason == "" && x.settings.RejectionReason && patch.Rejects() {
		return &problem{
			Type: problems.MissingParameter, Parameter: "reason",
			Detail: `this property requires a reason for each rejection: send it in the parameter "reason"`,
		}
	}
	if err := x.changeItem(library.Mutation{Patch: patch, ID: id, Reason: reason}); err != nil {
		return err
	}
	shown, err := x.readItem(x.r.Context(), id)
	if x.scope != nil && errors.Is(err, library.ErrNotFound) {
		return x.done(http.StatusNoContent, nil) // the change has moved the item out of the scope of the token
	}
	if err != nil {
		return orNoItem(err, id)
	}
	return x.doneItem(http.StatusOK, shown)
}

// maxConditionAttempts is how often a write with a condition is tried again because another request changes the item at the same time.
const maxConditionAttempts = 100

// changeItem writes a mutation of one item, if the item meets the conditions of the request.
func (x *exchange) changeItem(m library.Mutation) error {
	if m.ID < 1 {
		return noItem(m.ID)
	}
	c, err := x.conditions()
	if err != nil {
		return err
	}
	for range maxConditionAttempts {
		// With a scope, write only if the item is still the one that was read in the scope.
		if c.onTags() || x.scope != nil {
			r := x.itemRead(m.ID)
			r.Digest = new(item.Digest)
			m.If = r.Digest
			shown, err := x.server.lib.ReadItem(x.r.Context(), r)
			if err != nil {
				return orNoItem(err, m.ID)
			}
			// Not every caller sees when an item last changed, so If-Unmodified-Since does not apply (RFC 9110, 13.1.4).
			if err := c.check(bodyTag(shown), time.Time{}); err != nil {
				return err
			}
		}
		// If another request changes the item between the check and the write, check the conditions again for the new state.
		if _, err := x.change(m); !errors.Is(err, library.ErrChanged) {
			return orNoItem(err, m.ID)
		}
	}
	return fmt.Errorf("%w: item %d has changed %d times between the check of a condition and the write", library.ErrUnavailable, m.ID, maxConditionAttempts)
}

// doneItem answers a request that writes an item. shown is the item as the caller sees it.
func (x *exchange) doneItem(status int, shown []byte) error {
	x.set("Etag", quoteTag(bodyTag(shown), false))
	return x.done(status, shown)
}

// eraseItem answers DELETE /v2/content/{id} (extension).
func (s *Server) eraseItem(x *exchange) error {
	id, err := x.pathNumber("id")
	if err != nil {
		return err
	}
	if err := x.changeItem(library.Mutation{Delete: true, ID: id}); err != nil {
		return err
	}
	return x.done(http.StatusNoContent, nil)
}
