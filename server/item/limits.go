package item

// These limits apply to bodies, patches and import lines, but not to items that are already stored. Input that exceeds MaxDepth is
// malformed (HTTP 400). Input that exceeds another limit is well-formed but not accepted (HTTP 422). The numbers of tags and names depend
// on the stored state, so package mutations checks them. Everything else is checked when the input is parsed.
const (
	// MaxText is the maximum length of content.text and of a caption, in bytes.
	MaxText = 64 << 10
	// MaxString is the maximum length of every other string, including URLs, in bytes.
	MaxString = 4 << 10
	// MaxRaw is the maximum length of configuration, catalog_item and catalog_image_url_src as compact JSON, in bytes.
	MaxRaw = 64 << 10
	// MaxTags is the maximum number of an item's own tags. Each change of an item writes and indexes all of its tags, so without a limit, the
	// total cost of tagging one item would be quadratic. 256 is several times the number of hashtags that any platform allows.
	MaxTags = 256
	// MaxTagsPerNamespace is the maximum number of an item's own tags in one namespace.
	MaxTagsPerNamespace = 100
	// MaxNamespaces is the maximum number of namespaces of an item's own tags.
	MaxNamespaces = 50
	// MaxPropertyNamespaces is the maximum number of different namespaces of own tags in one property. A pattern, a range or a fuzzy word such
	// as tags.\*:b* is one test for each namespace on OpenSearch, which accepts at most 1,024 tests. With 256 namespaces, a query can have
	// four such clauses, or one beside other clauses. A namespace counts as long as its name counts towards MaxFieldNames. Manifests of Tags
	// can use further namespaces.
	MaxPropertyNamespaces = 256
	// MaxUnits is the maximum number of an item's own conversion units.
	MaxUnits = 100
	// MaxSubmissionMembers is the maximum number of members of a submission, including username and email.
	MaxSubmissionMembers = 100
	// MaxSubmissionKey is the maximum length of the name of a submission's member, in bytes.
	MaxSubmissionKey = 128
	// MaxNamespace is the maximum length of a tag namespace, in characters.
	MaxNamespace = 63
	// MaxKey is the maximum length of a tag key, in characters. MaxHashtagKey is the maximum for the namespace hashtags.
	MaxKey        = 64
	MaxHashtagKey = 100
	// MaxShortCode is the maximum length of an imported short code, in characters.
	MaxShortCode = 32
	// MaxFieldNames is the maximum number of different names of dynamic fields in one property: the members of submissions and the
	// namespaces of own tags together. Once an item has had a name, the name counts until the property is purged, even if no item has it
	// any longer. A store that already exceeds the limit is served, but it refuses new names.
	MaxFieldNames = 10_000
	// MaxDepth is the maximum nesting depth of arrays and objects, including the outermost one.
	MaxDepth = 64
)
