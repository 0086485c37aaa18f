package item

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// platformRef is the prefix in the name of the content's member that holds the reference on the platform (specification, Content object).
// The name of the platform follows the prefix.
const platformRef = "platform_ref:"

// Line is the result of parsing one line of a bulk import.
type Line struct {
	Item *Item
	// Units holds the conversion units that the line describes with more than an id. A unit with a name is created if the property does not
	// have it. A reference has only an id and Managed true, and may dangle until its manifest is applied. If an id in Item.Units is not in
	// Units, the property must already have the unit.
	Units []Unit
}

// ParseLine parses one line of a bulk import. If the member content is an object, the line is a whole item as Marshal writes it, and
// ParseLine is the inverse of Marshal. Any other line is a body for ParseAdd, which may also have an id.
//
// In a whole item, content.content_type is required and everything else is optional. null and "" count as absent. ParseLine ignores unknown
// members, and also default_activate_unit, which follows from the other members. The default of created_on is the current time, and the
// default of approval_status is pending. Errors are *InvalidError with the path of the member.
func ParseLine(line []byte, o ParseOptions) (Line, error) {
	d := &decoder{}
	s := scratches.Get().(*scratch)
	defer s.release()
	body, err := d.root(decodeInto(s, line))
	if err != nil {
		return Line{}, err
	}
	if !body.has("content") {
		id := body.id()
		it, err := body.added(o)
		if err != nil {
			return Line{}, err
		}
		it.ID = id
		return Line{Item: it}, nil
	}
	it, units := body.item()
	if it.Content.ContentType == "" {
		d.malformed("content.content_type", "is required: image, video or text")
	}
	if err := d.failure(); err != nil {
		return Line{}, err
	}
	if it.ApprovalStatus == "" {
		it.ApprovalStatus = Pending
	}
	if it.CreatedOn == "" {
		it.CreatedOn = stamp(o.now())
	}
	if it.ShortCode == "" && it.ShortenedPermalink == "" {
		if it.ShortCode, err = NewShortCode(o.Rand); err != nil {
			return Line{}, err
		}
	}
	return Line{Item: it, Units: units}, nil
}

// LineID returns the id in a line, or 0 if the line has none. The item of a line without an id gets a new id. LineID checks nothing else in
// the line. It returns an error if the line is not a JSON object or its id is not valid. ParseLine refuses such a line too.
func LineID(line []byte) (int64, error) {
	d := &decoder{}
	s := scratches.Get().(*scratch)
	defer s.release()
	body, err := d.root(decodeInto(s, line))
	if err != nil {
		return 0, err
	}
	return body.id(), d.failure()
}

// Unmarshal parses the output of Marshal. Unlike ParseLine, it checks no limits and requires no members, because it reads only items that a
// store accepted before. It fills in only one value: an item that was stored without last_modified gets its created_on. Its errors are
// *InvalidError, and mean that the stored bytes are damaged.
func Unmarshal(stored []byte) (*Item, error) {
	d := &decoder{stored: true}
	s := scratches.Get().(*scratch)
	defer s.release()
	body, err := d.root(decodeInto(s, stored))
	if err != nil {
		return nil, err
	}
	it, _ := body.item()
	if err := d.failure(); err != nil {
		return nil, err
	}
	it.LastModified = cmp.Or(it.LastModified, it.CreatedOn)
	return it, nil
}

// Marshal returns the item as one line of an export, without the newline: the item shape without fillers, and the members tags, claimed and
// short_code. units contains the item's own units, except those that the property does not have. Marshal writes the missing ones as managed
// units with only an id. ParseLine is the inverse of Marshal.
func Marshal(it *Item, units []Unit) []byte {
	dst := append(make([]byte, 0, 2048), '{')
	dst = appendMembers(dst, itemTable, it)
	dst = appendTags(dst, it.Tags)
	for i, id := range it.Units {
		if i == 0 {
			dst = append(dst, `,"activate_units":[`...)
		} else {
			dst = append(dst, ',')
		}
		if at := slices.IndexFunc(units, func(u Unit) bool { return u.ID == id }); at >= 0 {
			dst = append(appendMembers(append(dst, '{'), unitTable, &units[at]), '}')
		} else {
			dst = append(strconv.AppendInt(append(dst, `{"id":`...), id, 10), `,"managed":true}`...)
		}
	}
	if len(it.Units) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendTags appends the member tags: {namespace: [{"key": key}, …], …}. The argument is sorted by namespace.
func appendTags(dst []byte, tags []Tag) []byte {
	for i, t := range tags {
		switch {
		case i == 0:
			dst = append(dst, `,"tags":{`...)
		case t.Namespace == tags[i-1].Namespace:
			dst = append(dst, ',')
		default:
			dst = append(dst, "],"...)
		}
		if i == 0 || t.Namespace != tags[i-1].Namespace {
			dst = append(AppendString(dst, t.Namespace), ":["...)
		}
		dst = append(dst, `{"key":`...)
		dst = append(AppendString(dst, t.Key), '}')
	}
	if len(tags) > 0 {
		dst = append(dst, "]}"...)
	}
	return dst
}

// item reads a whole item, as Marshal writes it.
func (o *object) item() (*Item, []Unit) {
	it := &Item{}
	readMembers(o, itemTable, it)
	content := o.child("content")
	content.reference(&it.Content)
	content.geo(&it.Content)
	it.Tags = o.tags()
	ids, units := o.units()
	it.Units = ids
	return it, units
}

// reference reads the reference on the platform. The reference for the content's own platform takes precedence. If the object has no such
// reference, reference reads the first one in order of name. Content without a platform gets the platform in the name of that reference.
func (o *object) reference(c *Content) {
	name := platformRef + c.SocialPlatform
	if !o.has(name) {
		name = ""
		for _, m := range o.sorted() {
			if strings.HasPrefix(m.name, platformRef) && m.there() {
				name = m.name
				break
			}
		}
	}
	if name != "" {
		c.PlatformRef = o.word(name)
		if c.SocialPlatform == "" && c.PlatformRef != "" {
			c.SocialPlatform = strings.TrimPrefix(name, platformRef)
		}
	}
}

// geo removes geo_data without coordinates, even if there is a type.
func (o *object) geo(c *Content) {
	data := o.get("platform_data")
	data = data.get("geo_data")
	data = data.get("coordinates")
	switch latitude, longitude := data.get("latitude").there(), data.get("longitude").there(); {
	case !latitude && !longitude:
		c.Geo = nil
	case !latitude || !longitude:
		o.unacceptable(strings.TrimSuffix(inCoordinates, "."), "must have both latitude and longitude")
	}
}
