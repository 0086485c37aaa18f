package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// tagPageSize is the default and the maximum page size of the list of a tag's items. The specification sets neither.
const tagPageSize = 500

// maxTagText is the maximum length of a namespace and of a key in a body, in bytes. It exceeds the limits of package item, so that a longer
// namespace or key gets the more precise error of that package.
const maxTagText = 4 << 10

// tagRecord is a tag in a response.
type tagRecord struct {
	Namespace string `json:"namespace"`
	Key       string `json:"key"`
}

// addTag answers POST /v1/tags/ (specification, Tagging). If any id is unknown, addTag adds the tag to no item.
func (s *Server) addTag(x *exchange) error {
	body, err := x.members()
	if err != nil {
		return err
	}
	ids, err := body.ids("ugc_ids")
	if err != nil {
		return err
	}
	var t item.Tag
	if t.Namespace, err = body.text("namespace", maxTagText); err != nil {
		return err
	}
	if t.Key, err = body.text("key", maxTagText); err != nil {
		return err
	}
	t = item.NewTag(t.Namespace, t.Key)
	if err := item.ValidNamespace(t.Namespace); err != nil {
		return err
	}
	if err := item.ValidKey(t.Namespace, t.Key); err != nil {
		return err
	}
	if x.scope != nil {
		hidden, err := x.hidden(ids)
		if err != nil {
			return err
		}
		if len(hidden) > 0 {
			return &library.UnknownItemsError{IDs: hidden}
		}
	} else if wrong := impossible(ids); len(wrong) > 0 {
		return x.unknownItems(ids, wrong)
	}
	if _, err := x.change(library.Mutation{Tag: &t, IDs: ids}); err != nil {
		return err
	}
	return x.done(http.StatusCreated, marshal(struct {
		tagRecord
		IDs []item.ID `json:"ugc_ids"`
	}{tagRecord(t), ids}))
}

// unknownItems returns an error that lists every unknown id in ids. wrong contains the ids that are outside the range of ids.
func (x *exchange) unknownItems(ids, wrong []item.ID) error {
	unknown := wrong
	for _, id := range ids {
		if !item.ValidID(id) {
			continue
		}
		if _, err := x.server.lib.ItemTags(x.r.Context(), x.grant.property, id); errors.Is(err, library.ErrNotFound) {
			unknown = append(unknown, id)
		} else if err != nil {
			return err
		}
	}
	return &library.UnknownItemsError{IDs: unknown}
}

// removeTag answers DELETE /v1/tags/{namespace}/{key}/{ugc_id}.
func (s *Server) removeTag(x *exchange) error {
	t := x.pathTag()
	id := x.pathID("ugc_id")
	gone := absent("the item does not carry this tag")
	if id == 0 {
		return gone
	}
	err := x.inScope(x.r.Context(), id)
	if err == nil {
		_, err = x.change(library.Mutation{Untag: &t, IDs: []item.ID{id}})
	}
	if unknown := (*library.UnknownItemsError)(nil); errors.Is(err, library.ErrNotFound) || errors.As(err, &unknown) {
		return gone
	}
	if err != nil {
		return err
	}
	return x.done(http.StatusNoContent, nil)
}

func (x *exchange) pathTag() item.Tag {
	return item.NewTag(x.r.PathValue("namespace"), x.r.PathValue("key"))
}

// listTagged answers GET /v1/tags/{namespace}/{key}/.
func (s *Server) listTagged(x *exchange) error {
	t := x.pathTag()
	known, err := x.hasTag(t)
	if err != nil {
		return err
	}
	if !known {
		return absent("this tag has never existed in this property")
	}
	names := marshal(tagRecord(t))
	return x.list(listing{
		read: library.Read{
			Query: library.FavouriteTerm(t),
			Order: query.Order{{Field: "created_on", Desc: true}},
		},
		defaultSize: tagPageSize, maxSize: tagPageSize,
		name: "ugc:tags", beside: "," + string(names[1:len(names)-1]),
	})
}

// hasTag reports whether a tag has ever existed. For a token with a scope, a tag exists if a manifest declares it, or if an item in the
// scope has it now.
func (x *exchange) hasTag(t item.Tag) (bool, error) {
	if x.scope == nil {
		return x.server.lib.HasTag(x.grant.property, t)
	}
	declared, err := x.server.lib.Definitions(x.grant.property, library.KindTag)
	if err != nil || slices.ContainsFunc(declared, func(d library.Definition) bool { return d.Tag.Tag == t }) {
		return err == nil, err
	}
	n, err := x.countItems(x.r.Context(), library.FavouriteTerm(t), nil)
	return n > 0, err
}

// listItemTags answers GET /v1/tags/ugc/{ugc_id}/.
func (s *Server) listItemTags(x *exchange) error {
	id := x.pathID("ugc_id")
	shown, err := x.readItem(x.r.Context(), id)
	if err != nil {
		return orNoItem(err, id)
	}
	tags, err := s.lib.ItemTags(x.r.Context(), x.grant.property, id)
	if err != nil {
		return orNoItem(err, id)
	}
	x.shown.item = id
	first, all := tagRecord{}, make([]tagRecord, len(tags))
	for i, t := range tags {
		all[i] = tagRecord(t)
	}
	if len(all) > 0 {
		first = all[0]
	}
	body := append([]byte(`{"total_results":`), strconv.Itoa(len(all))...)
	body = append(append(body, `,"_embedded":{"ugc":[`...), shown...)
	body = append(append(body, `],"namespace":`...), marshal(first.Namespace)...)
	body = append(append(body, `,"key":`...), marshal(first.Key)...)
	body = append(append(body, `,"tags":`...), marshal(all)...)
	body = links{self: x.linkHere()}.append(append(body, `},"_links":`...))
	return x.show(append(body, '}'))
}
