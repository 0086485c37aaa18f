package item

// Limits of what is accepted in a body, a patch or an import line. Passing one is well-formed yet unacceptable (HTTP 422)
// except MaxDepth, which is about what can be understood (HTTP 400). They do not apply to what the store already holds.
const (
	// MaxText is the length of content.text and of a caption, in bytes.
	MaxText = 64 << 10
	// MaxString is the length of every other string, URLs included, in bytes.
	MaxString = 4 << 10
	// MaxRaw is the length of configuration, catalog_item and catalog_image_url_src as compact JSON, in bytes.
	MaxRaw = 64 << 10
	// MaxTagsPerNamespace is the number of tags of one namespace that an item can have of its own.
	MaxTagsPerNamespace = 100
	// MaxNamespaces is the number of tag namespaces that an item can have of its own.
	MaxNamespaces = 50
	// MaxUnits is the number of conversion units that can be attached to the item itself.
	MaxUnits = 100
	// MaxSubmissionMembers is the number of members of a submission, username and email included.
	MaxSubmissionMembers = 100
	// MaxSubmissionKey is the length of the name of a submission's member, in bytes.
	MaxSubmissionKey = 128
	// MaxNamespace is the length of a tag namespace, in characters.
	MaxNamespace = 63
	// MaxKey is the length of a tag key, in characters; MaxHashtagKey that of a key in the namespace hashtags.
	MaxKey        = 64
	MaxHashtagKey = 100
	// MaxShortCode is the length of an imported short code, in characters.
	MaxShortCode = 32
	// MaxFieldNames is the number of different names that the dynamic fields of all items of one property can have: the members
	// of their submissions and the namespaces of their own tags together. A name counts from the first item that has it until
	// the property is purged, whether or not any item still has it. A store that holds more is served; new names are refused.
	MaxFieldNames = 10_000
	// MaxDepth is how deep arrays and objects can be nested, the outermost one counted.
	MaxDepth = 64
)
