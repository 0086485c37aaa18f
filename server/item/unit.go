package item

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
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

// Reference reports whether the unit is managed and has nothing but an id. Such a unit refers to a unit that a manifest declares.
func (u Unit) Reference() bool {
	return u.Managed && u.Name == "" && u.ImageURL == "" && u.ClickThroughURL == "" && u.CatalogItem == nil &&
		u.CatalogImageURLSrc == nil && u.ExternalID == ""
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
	u.LastModified = cmp.Or(u.LastModified, u.CreatedOn)
	dst := []byte{'{'}
	for _, m := range unitTable.members {
		dst = append(dst, m.key[leads(dst):]...)
		switch p := m.at(&u).(type) {
		case *string:
			if s := cmp.Or(*p, *m.at(&null).(*string)); s != "" {
				dst = AppendString(dst, s)
			} else {
				dst = append(dst, "null"...)
			}
		case *int64:
			dst = strconv.AppendInt(dst, cmp.Or(*p, *m.at(&null).(*int64)), 10)
		case *bool:
			dst = strconv.AppendBool(dst, *p)
		case *json.RawMessage:
			dst = appendRaw(dst, *p)
		}
	}
	return append(dst, `,"associated_contents":[]}`...)
}

// units reads the member activate_units, whose elements are ids, or objects with an id. The result ids contains all ids in order, without
// duplicates. The result whole contains the units that have a name or are managed.
func (o *object) units() (ids []int64, whole []Unit) {
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
			unit := object{decoder: o.decoder, path: path, value: v.value}
			u = unit.unit()
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
	for _, m := range unitTable.members {
		if s, ok := m.at(&u).(*string); ok {
			*s = strings.Clone(*s)
		}
	}
	return u
}

// unit reads a conversion unit. Only the id is required. An object with only an id means the same as the id alone.
func (o *object) unit() (u Unit) {
	if !o.has("id") {
		o.malformed(o.at("id"), "a unit needs its id")
	}
	readMembers(o, unitTable, &u)
	return u
}
