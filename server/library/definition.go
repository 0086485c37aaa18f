package library

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
)

// PropertyID names a property: "namespace/name" of its manifest.
type PropertyID string

// Kind is a kind of definition.
type Kind uint8

// The five kinds.
const (
	KindProperty Kind = iota + 1
	KindToken
	KindFilter
	KindTag
	KindUnit
)

// String returns the name of the manifest's kind: Property, AccessToken, ContentFilter, Tag, ActivateUnit.
func (k Kind) String() string {
	switch k {
	case KindProperty:
		return "Property"
	case KindToken:
		return "AccessToken"
	case KindFilter:
		return "ContentFilter"
	case KindTag:
		return "Tag"
	case KindUnit:
		return "ActivateUnit"
	}
	return "unknown kind"
}

// Owner identifies the manifest that declares a definition. The zero Owner means HTTP.
type Owner struct {
	// Install is the identity of the cluster: the UID of its kube-system namespace.
	Install   string
	Kind      Kind
	Namespace string
	Name      string
}

// IsHTTP reports whether o owns definitions created over HTTP.
func (o Owner) IsHTTP() bool { return o == Owner{} }

// Internal reports whether o is something other than an object that a user created. The name of an internal owner begins with a slash,
// which names of objects cannot contain.
func (o Owner) Internal() bool { return strings.HasPrefix(o.Name, "/") }

// String returns "Kind namespace/name", or "HTTP".
func (o Owner) String() string {
	if o.IsHTTP() {
		return "HTTP"
	}
	return o.Kind.String() + " " + o.Namespace + "/" + o.Name
}

// Definition is anything that a library holds besides items. Exactly one of the five spec members is set.
type Definition struct {
	Property PropertyID
	Owner    Owner
	// Created is the creationTimestamp of the manifest, or zero for HTTP. Of two manifests with the same claim, the older one holds it. If
	// they have the same age, namespace/name decides.
	Created time.Time

	PropertySpec *Property
	Token        *Token
	Filter       *Filter
	Tag          *TagRule
	Unit         *UnitRule
}

// Kind returns the kind of the spec member that is set, or 0 if none is.
func (d Definition) Kind() Kind {
	switch {
	case d.PropertySpec != nil:
		return KindProperty
	case d.Token != nil:
		return KindToken
	case d.Filter != nil:
		return KindFilter
	case d.Tag != nil:
		return KindTag
	case d.Unit != nil:
		return KindUnit
	}
	return 0
}

// Property holds the settings of a property. Tokens are valid within one property.
type Property struct {
	PlatformPageID int64 // never 0
	// AllowedOrigins are the origins of the web pages that may send requests. Scheme, host and port must be equal. A leading "*." matches
	// one label.
	AllowedOrigins []string
	// RatePerSecond and Burst limit each token. 0 means unlimited.
	RatePerSecond float64
	Burst         int
	// Cache holds the cache times in responses to READ-ONLY callers. nil means the defaults of the HTTP API.
	Cache *Cache
	// Maintenance, if set, makes the server answer every request with 503.
	Maintenance *Maintenance
	// ExternalURL is the base URL of links. "" means the server's own base URL.
	ExternalURL string
}

// Cache holds the cache times of responses, each at least 0.
type Cache struct{ MaxAge, StaleWhileRevalidate time.Duration }

// Maintenance is the content of the 503 response.
type Maintenance struct {
	RetryAfter time.Duration
	Message    string
}

// Digest is the SHA-256 of a token. Tokens themselves are never stored.
type Digest [32]byte

// String returns the first eight hexadecimal digits: enough to tell two tokens apart in a log, but too few to find the token.
func (d Digest) String() string { return hex.EncodeToString(d[:4]) }

// MaxReplacedValues is the maximum number of replaced values that a library keeps for each token. It drops the oldest values first.
const MaxReplacedValues = 100

// Token is an access token. It has one value, or two during the overlap of a rotation.
type Token struct {
	ReadWrite bool
	Values    []TokenValue
	// Replaced holds values that the token accepted in the past, newest first, at most MaxReplacedValues. The library refuses them and
	// gives them to no other token. Apply sets Replaced and ignores the caller's value.
	Replaced []TokenValue `json:",omitempty"`
	// Filters, if not nil, lists the UUIDs of the only filters that the token may list. The token may read nothing else. A filter that does
	// not exist or is not Public grants nothing.
	Filters []string
}

// TokenValue is one accepted value of a token.
type TokenValue struct {
	Digest Digest
	// Expires is the first instant at which the library refuses the value. Zero means never.
	Expires time.Time
	// Since is the time at which the manifest first had the value. Of two tokens with the same value, the one with the earlier Since owns
	// it. It is zero, which is earlier than all other times, if a version that did not record the time stored the value.
	Since time.Time `json:",omitzero"`
}

// Filter is a saved query and order.
type Filter struct {
	// UUID and ID identify the filter in the HTTP interface. For a filter of a manifest, they are derived from the owner (see FilterIDs),
	// or are those of the filter that it adopts.
	UUID string
	ID   int64
	Name string
	// Query and Order are the query string and the sort string, as the author wrote them.
	Query string
	Order string
	// Favourite is the tag whose items come first, unless the request names another tag.
	Favourite *item.Tag
	// Public allows READ-ONLY tokens to list the items. The query stays hidden from them.
	Public bool
	// Adopt is true for a manifest that takes over the filter that was created over HTTP with this ID. When the definition is removed, that
	// filter returns to HTTP.
	Adopt bool
}

// TagRule assigns a tag to items: to the listed ones, and to those that match a selector, including items that are written later.
type TagRule struct {
	Tag   item.Tag
	Items []item.ID
	// Selector is a query, or "" if there is none. It cannot use the fields of tags or units.
	Selector string
}

// UnitRule is a conversion unit with the items that it is attached to.
type UnitRule struct {
	Unit item.Unit
	// Default makes the unit the default unit of the property.
	Default bool
	Items   []item.ID
	// Selector is a query, or "" if there is none. It can use the fields of tags, but not those of units.
	Selector string
}

// Result is the outcome of Apply for one Definition.
type Result struct {
	// Changed is false if the library already had the same definition.
	Changed bool
	// Err is the reason why the library refused the definition, or nil: *ConflictError, *IDTakenError, ErrNoProperty (the property does not
	// exist yet), *query.SyntaxError, ErrInvalid. The library keeps serving the last good version of a refused definition, unless that
	// version lost a conflict.
	Err error
	// Displaced lists the owners that lost a claim to this definition, or to a definition that is served because of this Property. The
	// library refuses their definitions from now on.
	Displaced []Owner
	// MissingItems is the number of ids in Items that the library does not have. MissingFirst lists at most the first ten of these ids.
	MissingItems int
	MissingFirst []item.ID
}

// FilterRecord is a Filter with the additional data that the HTTP API returns in a list of filters.
type FilterRecord struct {
	Filter
	PlatformPageID int64
	Owner          Owner // zero for filters created over HTTP, which callers can edit
	// Changed is the time at which the library received the newest version of the definition.
	Changed time.Time
}
