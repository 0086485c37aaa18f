package item

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

const (
	// blank is the filler for URLs that the specification requires.
	blank = "about:blank"
	// epoch is the filler for timestamps that the specification requires.
	epoch = "1970-01-01T00:00:00Z"
)

// NullUnit returns the unit that an item without a default unit shows as default_activate_unit. It is archived, its id is 0, and its URLs
// are about:blank (docs/http-api.md, "The item").
func NullUnit() Unit {
	return Unit{
		Name:                "none",
		ImageURL:            blank,
		ClickThroughURL:     blank,
		Archived:            true,
		CreatedOn:           epoch,
		LastModified:        epoch,
		ClickUnitLibrary:    1,
		ActivateUnitLibrary: 1,
	}
}

// DefaultUnit returns the unit that an item shows as default_activate_unit: the first of its units that is not archived, otherwise the
// default unit of the property, which may be nil.
func DefaultUnit(units []Unit, property *Unit) *Unit {
	for i := range units {
		if !units[i].Archived {
			return &units[i]
		}
	}
	return property
}

// EncodeUnit returns the unit in response form, with every member that the specification requires. It fills in missing values from
// NullUnit.
func EncodeUnit(u Unit) []byte {
	null := NullUnit()
	dst := append([]byte(nil), `{"id":`...)
	dst = strconv.AppendInt(dst, u.ID, 10)
	dst = appendMember(dst, "name", cmp.Or(u.Name, null.Name))
	dst = appendMember(dst, "image_url", cmp.Or(u.ImageURL, blank))
	dst = appendMember(dst, "click_through_url", cmp.Or(u.ClickThroughURL, blank))
	dst = append(dst, `,"catalog_item":`...)
	dst = appendRaw(dst, u.CatalogItem)
	dst = append(dst, `,"catalog_image_url_src":`...)
	dst = appendRaw(dst, u.CatalogImageURLSrc)
	if u.ExternalID == "" {
		dst = append(dst, `,"external_id":null`...)
	} else {
		dst = appendMember(dst, "external_id", u.ExternalID)
	}
	dst = append(dst, `,"archived":`...)
	dst = strconv.AppendBool(dst, u.Archived)
	dst = append(dst, `,"managed":`...)
	dst = strconv.AppendBool(dst, u.Managed)
	dst = appendMember(dst, "created_on", cmp.Or(u.CreatedOn, epoch))
	dst = appendMember(dst, "last_modified", cmp.Or(u.LastModified, u.CreatedOn, epoch))
	dst = append(dst, `,"click_unit_library":`...)
	dst = strconv.AppendInt(dst, max(u.ClickUnitLibrary, 1), 10)
	dst = append(dst, `,"activate_unit_library":`...)
	dst = strconv.AppendInt(dst, max(u.ActivateUnitLibrary, 1), 10)
	return append(dst, `,"associated_contents":[]}`...)
}

// marshal appends the unit in the form of an export line, without fillers.
func (u Unit) marshal(dst []byte) []byte {
	w := objectWriter{dst: append(dst, '{')}
	w.number("id", u.ID)
	w.text("name", u.Name)
	w.text("image_url", u.ImageURL)
	w.text("click_through_url", u.ClickThroughURL)
	w.raw("catalog_item", u.CatalogItem)
	w.raw("catalog_image_url_src", u.CatalogImageURLSrc)
	w.text("external_id", u.ExternalID)
	w.boolean("archived", u.Archived)
	w.boolean("managed", u.Managed)
	w.text("created_on", u.CreatedOn)
	w.text("last_modified", u.LastModified)
	w.number("click_unit_library", u.ClickUnitLibrary)
	w.number("activate_unit_library", u.ActivateUnitLibrary)
	return append(w.dst, '}')
}

// units reads the member activate_units, whose elements are ids, or objects with an id. The result ids contains all ids in order, without
// duplicates. The result whole contains the units that have a name or are managed.
func (o object) units() (ids []int64, whole []Unit) {
	list := o.list("activate_units")
	if len(list) > MaxUnits && !o.stored {
		o.unacceptable(o.at("activate_units"), "at most %d units are accepted", MaxUnits)
		return nil, nil
	}
	for i, v := range list {
		path := o.at("activate_units") + "[" + strconv.Itoa(i) + "]"
		var u Unit
		switch v.kind {
		case number:
			if id := o.wholeNumber(path, v.value, 1, MaxID); id != nil {
				u.ID = *id
			}
		case structure:
			u = object{decoder: o.decoder, path: path, value: v.value}.unit()
		default:
			o.malformed(path, "expected a unit or its id, got %s", v.kind)
		}
		if u.ID == 0 || slices.Contains(ids, u.ID) {
			continue
		}
		ids = append(ids, u.ID)
		if u.Name != "" || u.Managed {
			whole = append(whole, u.detached())
		}
	}
	return ids, whole
}

// detached returns the unit with cloned strings. The unit lives much longer than its import line. Without the clones, its strings would
// keep the whole line in memory.
func (u Unit) detached() Unit {
	for _, s := range []*string{&u.Name, &u.ImageURL, &u.ClickThroughURL, &u.ExternalID, &u.CreatedOn, &u.LastModified} {
		*s = strings.Clone(*s)
	}
	return u
}

// unit reads a conversion unit. Only the id is required. An object with only an id means the same as the id alone.
func (o object) unit() Unit {
	if !o.has("id") {
		o.malformed(o.at("id"), "a unit needs its id")
	}
	return Unit{
		ID:                  o.id(),
		Name:                o.given("name"),
		ImageURL:            o.link("image_url"),
		ClickThroughURL:     o.link("click_through_url"),
		CatalogItem:         o.raw("catalog_item"),
		CatalogImageURLSrc:  o.raw("catalog_image_url_src"),
		ExternalID:          o.word("external_id"),
		Archived:            o.boolean("archived"),
		Managed:             o.boolean("managed"),
		CreatedOn:           o.timestamp("created_on"),
		LastModified:        o.timestamp("last_modified"),
		ClickUnitLibrary:    zero(o.integer("click_unit_library", MaxID)),
		ActivateUnitLibrary: zero(o.integer("activate_unit_library", MaxID)),
	}
}

// zero returns *n, or 0 if n is nil.
func zero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
