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

// Owner identifies the manifest from which a definition comes. The zero Owner means HTTP.
type Owner struct {
	// Install is the identity of the cluster: the UID of its kube-system namespace.
	Install   string
	Kind      Kind
	Namespace string
	Name      string
}

// IsHTTP reports whether o owns definitions created over HTTP.
func (o Owner) IsHTTP() bool { return o == Owner{} }

// Internal reports whether o is not an object that a user created: its name begins with a slash, which no name of an object contains.
func (o Owner) Internal() bool { return strings.HasPrefix(o.Name, "/") }

// String returns "Kind namespace/name", or "HTTP".
func (o Owner) String() string {
	if o.IsHTTP() {
		return "HTTP"
	}
	return o.Kind.String() + " " + o.Namespace + "/" + o.Name
}

// Definition is anything that a library holds other than items. Exactly one of the five spec members is set.
type Definition struct {
	Property PropertyID
	Owner    Owner
	// Created is the creationTimestamp of the manifest. Of two definitions with the same claim, the older one holds it; at
	// the same age, namespace/name decides. Zero for HTTP.
	Created time.Time

	PropertySpec *Property
	Token        *Token
	Filter       *Filter
	Tag          *TagRule
	Unit         *UnitRule
}

// Kind returns the kind of the spec member that is set, 0 when none is.
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

// Property holds the settings of a property, the scope of a token.
type Property struct {
	PlatformPageID int64 // never 0
	// AllowedOrigins are the origins from which web pages may call: scheme, host and port must be equal; a leading "*." matches one label.
	AllowedOrigins []string
	// RatePerSecond and Burst limit each token; 0 means unlimited.
	RatePerSecond float64
	Burst         int
	// Cache holds the cache times that READ-ONLY callers receive; nil means the defaults of the HTTP API.
	Cache *Cache
	// Maintenance, if set, makes the server answer every request with 503.
	Maintenance *Maintenance
	// ExternalURL is the base of links; "" means the server's own.
	ExternalURL string
}

// Cache holds cache times, each at least 0.
type Cache struct{ MaxAge, StaleWhileRevalidate time.Duration }

// Maintenance is the content of the 503 response.
type Maintenance struct {
	RetryAfter time.Duration
	Message    string
}

// Digest is the SHA-256 of a token. Tokens themselves are never stored.
type Digest [32]byte

// String returns the first eight hexadecimal digits: enough to tell two tokens apart in a log, too few to look one up.
func (d Digest) String() string { return hex.EncodeToString(d[:4]) }

// MaxReplacedValues limits the replaced values that a library keeps for each token. It drops the oldest first.
const MaxReplacedValues = 100

// Token is an access token: one value, or two while a rotation overlaps.
type Token struct {
	ReadWrite bool
	Values    []TokenValue
	// Replaced holds values that the token accepted in the past, newest first, at most MaxReplacedValues. They are refused,
	// and no other token can have them. Apply sets Replaced and ignores what the caller sets.
	Replaced []TokenValue `json:",omitempty"`
	// Filters, if not nil, lists by UUID the only filters that the token may list. It may read nothing else. A filter that does not exist
	// or is not Public grants nothing.
	Filters []string
}

// TokenValue is one accepted value of a token.
type TokenValue struct {
	Digest Digest
	// Expires is the first instant at which the value is refused; zero means never.
	Expires time.Time
	// Since is when the manifest first had the value. Of two tokens with the same value, the one with the earlier Since owns it. It is
	// zero, which is earlier than all other times, if a version that did not record the time stored the value.
	Since time.Time `json:",omitzero"`
}

// Filter is a saved query and order.
type Filter struct {
	// UUID and ID identify the filter in the HTTP interface. If the definition has an Owner, they are derived from it (see
	// FilterIDs) or are those of the adopted filter.
	UUID string
	ID   int64
	Name string
	// Query and Order are the query string and the sort string as the author wrote them.
	Query string
	Order string
	// Favourite is the tag whose items are listed first if the request names none.
	Favourite *item.Tag
	// Public lets READ-ONLY tokens list the items; the query stays hidden.
	Public bool
	// Adopt is true for a manifest that takes over the filter with this ID, which was created over HTTP. When the definition is removed,
	// that filter returns to HTTP.
	Adopt bool
}

// TagRule says which items carry a tag: the listed ones and those that match a selector, including items that are written later.
type TagRule struct {
	Tag   item.Tag
	Items []item.ID
	// Selector is a query, or "" if there is none. It may not name tags… or activate_units….
	Selector string
}

// UnitRule is a conversion unit and the items it is attached to.
type UnitRule struct {
	Unit item.Unit
	// Default makes it the property's default unit.
	Default bool
	Items   []item.ID
	// Selector is a query, or "" if there is none. It may name tags but not activate_units….
	Selector string
}

// Result is the outcome of Apply for one Definition.
type Result struct {
	// Changed is false if the library already had the same definition.
	Changed bool
	// Err is nil, or why this definition was refused: *ConflictError, *IDTakenError, ErrNoProperty (the property does not exist yet),
	// *query.SyntaxError, ErrInvalid. The library keeps serving the last good version of a refused definition, unless that version lost a
	// conflict.
	Err error
	// Displaced names the owners that lost a claim to this definition, or to one that is served because of this Property.
	// They are refused from now on.
	Displaced []Owner
	// MissingItems counts the ids in Items that are not in the library. MissingFirst lists at most the first ten of them.
	MissingItems int
	MissingFirst []item.ID
}

// FilterRecord is a Filter with the additional data that the HTTP interface lists.
type FilterRecord struct {
	Filter
	PlatformPageID int64
	Owner          Owner // the zero Owner for filters created over HTTP, which are editable
	// Changed is when the library received the newest version of the definition.
	Changed time.Time
}
