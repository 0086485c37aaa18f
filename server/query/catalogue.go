package query

import (
	"slices"
	"strings"
	"sync"
)

// AllField is the name of the default field, which contains the words of every field with Row.InAll. Queries can also name it explicitly.
const AllField = "_all"

// Row is a field of the catalogue, with additional data for documentation and mappings.
type Row struct {
	Field
	// InAll is true if AllField also contains the values of the field.
	InAll bool
	// About describes the field in a few words.
	About string
	// Values lists all possible values of the field if they are few and fixed. Otherwise, it is nil.
	Values []string
}

// CreatedOn is the field that breaks ties: items with equal sort values are sorted by it, newest first.
const CreatedOn = "created_on"

// LastModified is the private field with the time of the last change of an item's own data. It is private because it also shows when private
// data changed.
const LastModified = "last_modified"

// Shapes of the names of dynamic fields. A shape stands for one field for each platform, namespace or key.
const (
	// ReferenceField is the shape of the fields with the references on a platform.
	ReferenceField = "content.platform_ref:<platform>"
	// TagField is the shape of the fields with the tag keys of a namespace.
	TagField = "tags.<namespace>.key"
	// SubmissionField is the shape of the fields with the members of a submission.
	SubmissionField = "submission.<key>"

	referencePrefix  = "content.platform_ref:"
	tagPrefix        = "tags."
	tagSuffix        = ".key"
	submissionPrefix = "submission."
)

// rows returns the catalogue in the order of the documentation. Lookups, the OpenSearch mapping and docs/query-language.md all derive from
// it.
func rows() []Row {
	keyword := func(name, about string) Row { return Row{Field: Field{Name: name, Sortable: true}, About: about} }
	text := func(name, about string) Row { return Row{Field: Field{Name: name, Type: Text}, About: about} }
	typed := func(name string, t Type, about string) Row {
		return Row{Field: Field{Name: name, Type: t, Sortable: true}, About: about}
	}
	inAll := func(r Row) Row { r.InAll = true; return r }
	private := func(r Row) Row { r.Private = true; return r }
	oneOf := func(r Row, values ...string) Row { r.Values = values; return r }

	table := []Row{
		typed("id", Long, "the id of the item"),
		oneOf(keyword("approval_status", "app (approved), rej (rejected) or pen (pending)"), "app", "rej", "pen"),
		typed("campaign", Long, "the id of the campaign that collected the item"),
		typed("claimed", Boolean, "whether the author has claimed the item"),
		typed(CreatedOn, Date, "when the item was added to the library"),
		private(typed(LastModified, Date, "when the item's own data last changed; requires a READ-WRITE token")),
		typed("entry_confirmation_sent", Boolean, "whether a confirmation of the entry was sent to the author"),
		typed("featured", Boolean, "whether the item is featured"),
		keyword("shortened_permalink", "the short link that was imported"),
		keyword("configuration", "the configuration: the string itself if it is a JSON string, otherwise its compact JSON text"),
		inAll(keyword("hashtag.hashtag_text", "the hashtag that collected the item")),
		typed("hashtag.id", Long, "the id of the hashtag"),
		keyword("hashtag.social_platform", "the platform of the hashtag"),

		inAll(text("content.text", "the text or the caption")),
		oneOf(keyword("content.content_type", "image, video or text"), "image", "video", "text"),
		keyword("content.content_state", "active"),
		keyword("content.social_platform", "the platform, such as instagram or twitter"),
		typed("content.created_on", Date, "when the content was added to the library"),
		typed("content.social_platform_created_on", Date, "when the content was posted"),
		keyword("content.platform_ref", "the reference of the content, on any platform"),
		keyword(ReferenceField, "the reference of the content on one platform, which is written exactly as in social_platform, because the names of fields are case-sensitive; in a query, write content.platform_ref\\:<platform>"),

		inAll(keyword("content.author.username", "the user name of the author on the platform")),
		typed("content.author.id", Long, "the id of the author"),
		keyword("content.author.platform_id", "the id of the author on the platform"),
		keyword("content.author.social_platform", "the platform of the author"),
		typed("content.author.created_on", Date, "when the author was first seen"),
		inAll(text("content.author.profile.name", "the display name of the author")),
		keyword("content.author.profile.username", "the user name of the profile"),
		keyword("content.author.profile.profile_link", "the URL of the profile"),
		keyword("content.author.profile.avatar", "the URL of the avatar"),

		inAll(text("content.platform_data.location.name", "the name of the place")),
		inAll(text("content.platform_data.location.full_name", "the name of the place with its region")),
		inAll(text("content.platform_data.location.country", "the country")),
		keyword("content.platform_data.location.country_code", "the two-letter country code"),
		keyword("content.platform_data.location.place_type", "the kind of place, such as city"),
		keyword("content.platform_data.location.type", "the type of location, such as place"),
		keyword("content.platform_data.location.url", "the URL of the place"),
		keyword("content.platform_data.location.bounding_box", "the bounding box as JSON text"),
		keyword("content.platform_data.location.coordinates", "the coordinates as JSON text"),
		keyword("content.platform_data.geo_data.type", "the type of geometry, such as Point"),
		typed("content.platform_data.geo_data.coordinates.latitude", Double, "the latitude in degrees"),
		typed("content.platform_data.geo_data.coordinates.longitude", Double, "the longitude in degrees"),
		keyword("content.platform_data.social_platform_original_url", "the URL of the original post"),

		typed("content.media.id", Long, "the id of the medium"),
		oneOf(keyword("content.media.mediatype", "image, video or text"), "image", "video", "text"),
		keyword("content.media.social_platform", "the platform that the medium comes from"),
		keyword("content.media.original_url", "the URL of the medium"),
		keyword("content.media.base_url", "the base URL of the medium"),
		keyword("content.media.platform_data.url", "the URL of the medium on its platform"),
		keyword("content.media.media_urls.small_image", "the URL of the small image"),
		keyword("content.media.media_urls.medium_image", "the URL of the medium-sized image"),
		keyword("content.media.media_urls.large_image", "the URL of the large image"),
	}
	unit := []Row{
		typed("id", Long, "the id of the unit"),
		text("name", "the name of the unit"),
		keyword("image_url", "the URL of the image of the unit"),
		keyword("click_through_url", "the URL that a click opens"),
		keyword("external_id", "the id of the unit in another system"),
		keyword("catalog_item", "the catalog item: the string itself if it is a JSON string, otherwise its compact JSON text"),
		keyword("catalog_image_url_src", "the source of the image URL: the string itself if it is a JSON string, otherwise its compact JSON text"),
		typed("archived", Boolean, "whether the unit is archived"),
		typed("managed", Boolean, "whether a manifest manages the unit, in this library or in the library from which it was imported"),
		typed("created_on", Date, "when the unit was created"),
		typed("last_modified", Date, "when the unit was last modified"),
		typed("activate_unit_library", Long, "the library of the unit"),
		typed("click_unit_library", Long, "the click library of the unit"),
	}
	for _, r := range unit {
		r.Name, r.Sortable = "activate_units."+r.Name, false
		table = append(table, r)
	}
	for _, r := range unit {
		r.Name = "default_activate_unit." + r.Name
		table = append(table, r)
	}
	return append(table,
		Row{Field: Field{Name: TagField}, About: "the keys of the item's tags in one namespace; you can also write tags.<namespace>"},
		Row{Field: Field{Name: SubmissionField, Private: true, Sortable: true}, About: "one member of the submission; requires a READ-WRITE token"},
	)
}

// shortNames maps the documented short names of single fields to their canonical names.
func shortNames() map[string]string {
	return map[string]string{
		"text":            "content.text",
		"content_type":    "content.content_type",
		"social_platform": "content.social_platform",
		"author":          "content.author.username",
		"content.author":  "content.author.username",
	}
}

// shortPrefixes maps the prefixes of short field names, which omit "content.", to the prefixes of the canonical names.
func shortPrefixes() map[string]string {
	return map[string]string{"author.": "content.author.", "media.": "content.media."}
}

// catalogue contains the rows and the structures for looking up fields.
type catalogue struct {
	rows    []Row
	fields  map[string][]Field // the static field of each canonical name and each short name, so that Resolve allocates nothing
	objects map[string]bool    // every object that contains fields, such as content.media
	names   []string           // all keys of fields, sorted
	// otherNames is the result of the function otherNames.
	otherNames map[string]string
}

var loadCatalogue = sync.OnceValue(func() *catalogue {
	c := &catalogue{rows: rows(), fields: map[string][]Field{}, objects: map[string]bool{}, otherNames: otherNames()}
	for _, r := range c.rows {
		for i, b := range r.Name {
			if b == '.' {
				c.objects[r.Name[:i]] = true
			}
		}
		if !strings.Contains(r.Name, "<") {
			c.fields[r.Name] = []Field{r.Field}
		}
	}
	for name, f := range c.fields {
		for short, long := range shortPrefixes() {
			if rest, ok := strings.CutPrefix(name, long); ok {
				c.fields[short+rest] = f
			}
		}
	}
	for short, long := range shortNames() {
		c.fields[short] = c.fields[long]
	}
	c.fields[AllField] = []Field{{Name: AllField, Type: Text}}
	for name := range c.fields {
		c.names = append(c.names, name)
	}
	slices.Sort(c.names)
	return c
})

// Rows returns the catalogue in the order of the documentation. Rows represents dynamic fields by their shapes (ReferenceField, TagField,
// SubmissionField). It does not include AllField.
func Rows() []Row { return slices.Clone(loadCatalogue().rows) }

// Values returns all possible values of a field if they are few and fixed, such as true and false for a boolean. Otherwise, it returns nil.
func Values(f Field) []string {
	if f.Type == Boolean {
		return []string{"true", "false"}
	}
	for _, r := range loadCatalogue().rows {
		if r.Name == f.Name {
			return r.Values
		}
	}
	return nil
}

// Fields returns the static fields of the catalogue with their canonical names, in the order of the documentation.
func Fields() []Field {
	var out []Field
	for _, r := range loadCatalogue().rows {
		if !strings.Contains(r.Name, "<") {
			out = append(out, r.Field)
		}
	}
	return out
}

// Aliases returns the short names of a canonical field name, sorted.
func Aliases(canonical string) []string {
	c := loadCatalogue()
	var out []string
	for _, name := range c.names {
		if name != canonical && c.fields[name][0].Name == canonical {
			out = append(out, name)
		}
	}
	return out
}

// Lookup finds a field by its documented name, by a short name (text, author.username), or by the name of a dynamic field
// (content.platform_ref:<platform>, tags.<namespace>, tags.<namespace>.key, submission.<key>). The returned Field has the canonical name.
func Lookup(name string) (Field, bool) {
	if f, ok := loadCatalogue().fields[name]; ok {
		return f[0], true
	}
	if namespace, ok := strings.CutPrefix(name, tagPrefix); ok {
		namespace = strings.TrimSuffix(namespace, tagSuffix)
		if namespace == "" || strings.Contains(namespace, ".") {
			return Field{}, false
		}
		return Field{Name: TagFieldName(namespace)}, true
	}
	if key, ok := strings.CutPrefix(name, submissionPrefix); ok && key != "" {
		return Field{Name: name, Private: true, Sortable: true}, true
	}
	if platform, ok := strings.CutPrefix(name, referencePrefix); ok && platform != "" {
		return Field{Name: name, Sortable: true}, true
	}
	return Field{}, false
}

// TagFieldName returns the canonical name of the field that contains the tag keys of a namespace.
func TagFieldName(namespace string) string { return tagPrefix + namespace + tagSuffix }

// IsTagField reports whether a canonical field name has the form that TagFieldName returns.
func IsTagField(name string) bool { return strings.HasPrefix(name, tagPrefix) }

// TagNamespace returns the namespace of which name is the field (see TagFieldName). It returns false if name is not the name of such a
// field.
func TagNamespace(name string) (string, bool) {
	if !IsTagField(name) {
		return "", false
	}
	return strings.TrimSuffix(strings.TrimPrefix(name, tagPrefix), tagSuffix), true
}

// Dynamic reports whether a canonical field name is the name of a dynamic field.
func Dynamic(name string) bool {
	return strings.HasPrefix(name, referencePrefix) || IsTagField(name) || IsSubmissionField(name)
}

// IsSubmissionField reports whether a canonical field name is the name of a member of the submission.
func IsSubmissionField(name string) bool { return strings.HasPrefix(name, submissionPrefix) }

// Object reports whether name is the name of an object that contains fields, such as content.media, tags or author. Such names are allowed
// after _exists_ and _missing_. Object returns the canonical name.
func Object(name string) (string, bool) {
	canonical := expandShort(name)
	if loadCatalogue().objects[canonical] {
		return canonical, true
	}
	return "", false
}

// expandShort returns the canonical form of a short name. The name can also be that of an object.
func expandShort(name string) string {
	for short, long := range shortPrefixes() {
		if rest, ok := strings.CutPrefix(name+".", short); ok {
			return strings.TrimSuffix(long+rest, ".")
		}
	}
	if long, ok := shortNames()[name]; ok && name != "content.author" {
		return long
	}
	return name
}

// private reports whether a name belongs to the private part of an item, whether or not Lookup and Object know the name.
func private(name string) bool {
	return name == LastModified || name == strings.TrimSuffix(submissionPrefix, ".") || IsSubmissionField(name)
}
