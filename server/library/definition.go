package library

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
)

// PropertyID names a property: "namespace/name" of its manifest.
type PropertyID string

// Namespace returns the namespace of the manifest.
func (p PropertyID) Namespace() string {
	namespace, _, _ := strings.Cut(string(p), "/")
	return namespace
}

// Kind is a kind of definition.
type Kind uint8

// The kinds. The zero Kind is none of them.
const (
	KindProperty Kind = iota + 1
	KindToken
	KindFilter
	KindTag
	KindUnit
	KindWebhook
)

// kindNames contains the name of each kind of manifests.
var kindNames = [...]string{
	KindProperty: "Property", KindToken: "AccessToken", KindFilter: "ContentFilter", KindTag: "Tag", KindUnit: "ActivateUnit", KindWebhook: "Webhook",
}

// Kinds returns all kinds.
func Kinds() []Kind {
	var all []Kind
	for k := KindProperty; int(k) < len(kindNames); k++ {
		all = append(all, k)
	}
	return all
}

// KindNamed returns the kind with a name, or 0 if there is none.
func KindNamed(name string) Kind { return Kind(max(0, slices.Index(kindNames[:], name))) }

// String returns the name of the kind of manifests that declare a definition of this kind. A definition that a newer version has stored can
// have a kind that this version does not know.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "unknown kind"
	}
	return kindNames[k]
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

// Definition is a Property, AccessToken, ContentFilter, Tag, ActivateUnit or Webhook, declared by a manifest or created over HTTP. Exactly one of
// the spec members is set.
type Definition struct {
	Property PropertyID
	Owner    Owner
	// Created is the creationTimestamp of the manifest, or zero for HTTP. Of two manifests with the same claim, the older one holds the claim.
	// If both have the same age, the one that comes first by namespace/name holds it.
	Created time.Time

	PropertySpec *Property
	Token        *Token
	Filter       *Filter
	Tag          *TagRule
	Unit         *UnitRule
	Webhook      *Webhook `json:",omitempty"`
}

// spec is a member of a Definition that contains what only one kind has.
type spec interface {
	// check implements Check for this member. owner is the owner of the definition.
	check(owner Owner) error
}

// specs returns the spec members that are set.
func (d Definition) specs() (set []spec) {
	for _, of := range []struct {
		set  bool
		spec spec
	}{
		{d.PropertySpec != nil, d.PropertySpec}, {d.Token != nil, d.Token}, {d.Filter != nil, d.Filter}, {d.Tag != nil, d.Tag}, {d.Unit != nil, d.Unit},
		{d.Webhook != nil, d.Webhook},
	} {
		if of.set {
			set = append(set, of.spec)
		}
	}
	return set
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
	case d.Webhook != nil:
		return KindWebhook
	}
	return 0
}

// Property holds the settings of a property. Tokens are valid within one property.
type Property struct {
	PlatformPageID int64 // never 0
	// AllowedOrigins are the origins of the web pages that may send requests. The scheme, host and port of a page must equal those of one
	// entry. A leading "*." in the host matches one label.
	AllowedOrigins []string
	// RatePerSecond and Burst limit the requests of each token. 0 means unlimited.
	RatePerSecond float64
	Burst         int
	// Cache holds the cache times in responses to READ-ONLY callers. nil means the default times of the HTTP API.
	Cache *Cache
	// Maintenance, if set, makes the server answer every request with 503.
	Maintenance *Maintenance
	// ExternalURL is the base URL in links. "" means the base URL that the server is configured with.
	ExternalURL string
	// ReadOnlyQuery, if not "", is the query of the scope of the READ-ONLY tokens that have no Query of their own (see TokenScope).
	ReadOnlyQuery string `json:",omitempty"`
	// History is the number of changes that the history of each item keeps. nil means HistoryEntries, and 0 turns histories off.
	History *int `json:",omitempty"`
	// RejectionReason is true if a request that rejects an item must contain a reason.
	RejectionReason bool `json:",omitempty"`
	// Grants let manifests in other namespaces belong to the property.
	Grants []Grant `json:",omitempty"`
	// Source is the Git repository with the manifests, or nil if it is unknown. The server only shows it.
	Source *Source `json:",omitempty"`
}

// Source is a directory of a Git repository.
type Source struct {
	// Repository is the https URL of the repository's page.
	Repository string `json:"repository"`
	// Host is GitHub, GitLab or Gitea, or "" if the name of the host tells which one it is.
	Host string `json:"host,omitempty"`
	// Branch is "" for main, and Path is "" for the root.
	Branch string `json:"branch,omitempty"`
	Path   string `json:"path,omitempty"`
}

// Cache holds the cache times of responses, each at least 0.
type Cache struct{ MaxAge, StaleWhileRevalidate time.Duration }

// Maintenance is the content of the 503 response during maintenance.
type Maintenance struct {
	RetryAfter time.Duration
	Message    string
}

// Digest is the SHA-256 of a token. Tokens themselves are never stored.
type Digest [32]byte

// String returns the first eight hexadecimal digits: enough to tell two tokens apart in a log, but too few to find the token.
func (d Digest) String() string { return hex.EncodeToString(d[:4]) }

// MaxReplacedValues is the maximum number of replaced values that a library keeps for each token. If there are more, the library drops the
// oldest.
const MaxReplacedValues = 100

// Token is an access token. It has one value, or two during the overlap of a rotation.
type Token struct {
	ReadWrite bool
	Values    []TokenValue
	// Replaced contains former values of the token, newest first, at most MaxReplacedValues. The library does not accept them, and refuses
	// other tokens with such a value. Apply sets Replaced itself and ignores what the caller sets.
	Replaced []TokenValue `json:",omitempty"`
	// Filters, if not nil, restricts the token to listing the items of the filters with these UUIDs. The token may then read nothing else. A
	// filter that does not exist or is not Public grants nothing.
	Filters []string
	// FilterNames are the names of these filters' manifests, which are in the namespace of the Property (see Grant.Filters).
	FilterNames []string `json:",omitempty"`
	// Query, if not "", is the query of the token's scope (see TokenScope). For a READ-ONLY token without a Query, it is ReadOnlyQuery of the
	// property.
	Query string `json:",omitempty"`
	// Guest is true if the manifest is in another namespace than the Property. ReadOnlyQuery of the property then limits a READ-ONLY token in
	// addition to its Query.
	Guest bool `json:",omitempty"`
	// Allow, if not nil, limits a READ-WRITE token to these actions. An empty list permits only reads of public fields.
	Allow []Action
	// Subjects are the people who may use the token without its value, in the console.
	Subjects []Subject `json:",omitempty"`
}

// Subject is a person, or everyone in a group, by a name from the identity provider. Exactly one of the members is set.
type Subject struct {
	User  string `json:",omitempty"`
	Group string `json:",omitempty"`
}

// TokenValue is one accepted value of a token.
type TokenValue struct {
	Digest Digest
	// Expires is the first instant at which the library refuses the value. Zero means never.
	Expires time.Time
	// Since is the time at which the manifest first had the value. Of two tokens with the same value, the one with the earlier Since owns it.
	// Since is zero, which is earlier than all other times, if the value was stored by a version of Vitrine that did not record the time.
	Since time.Time `json:",omitzero"`
}

// Filter is a saved query and order.
type Filter struct {
	// UUID and ID identify the filter in the HTTP interface. For a filter that a manifest declares, they are derived from the owner (see
	// FilterIDs), or are those of the filter that the manifest adopts.
	UUID string
	ID   int64
	Name string
	// Query and Order are the query string and the sort string, as the author wrote them.
	Query string
	Order string
	// Favourite is the tag whose items come first, unless the request names another tag.
	Favourite *item.Tag
	// Public allows READ-ONLY tokens to list the items of the filter, but not to read its query.
	Public bool
	// Adopt is true if the manifest takes over the filter with this ID that was created over HTTP. After the removal of the definition, that
	// filter is again served as it was created over HTTP.
	Adopt bool
}

// TagRule assigns a tag to the items that it lists and to the items that match its selector, including items that are written later.
type TagRule struct {
	Tag   item.Tag
	Items []item.ID
	// Selector is a query, or "" if there is none. It cannot use the fields of tags or units.
	Selector string
}

// UnitRule is a conversion unit with a rule that attaches it to items.
type UnitRule struct {
	Unit item.Unit
	// Default makes the unit the default unit of the property.
	Default bool
	Items   []item.ID
	// Selector is a query, or "" if there is none. It can use the fields of tags, but not those of units.
	Selector string
}

// Webhook describes which changes the server sends, and where. Its signing secrets are not stored.
type Webhook struct {
	URL string
	// FilterUUID is the UUID of the filter whose items the webhook follows, or "" if Query selects the items.
	FilterUUID string `json:",omitempty"`
	// Query cannot use private fields.
	Query string `json:",omitempty"`
	// Entered, Left and Changed are the events to send: an item is new in the listing, is no longer in it, or has changed in it.
	Entered, Left, Changed bool
	// Items adds the public fields of each item that is in the listing.
	Items bool
	// MaxItems is the maximum number of changes in a delivery, and MaxDelay is how long a change waits for further ones.
	MaxItems int
	MaxDelay time.Duration
}

// Result is the outcome of Apply for one Definition.
type Result struct {
	// Changed is false if the definition equals the stored one, or if the library did not store it.
	Changed bool
	// Err is the reason why the library refused the definition, or nil: *ConflictError, *IDTakenError, ErrNoProperty (the property does not
	// exist yet), *query.SyntaxError, ErrInvalid. The library keeps serving the last good version of a refused definition, unless another
	// definition holds one of its claims.
	Err error
	// Displaced lists the owners that lost a claim to this definition, or to a definition that is served because of this Property. The library
	// now refuses the definitions of these owners.
	Displaced []Owner
	// MissingItems is the number of ids in Items that the library does not have. MissingFirst lists at most the first ten of these ids.
	MissingItems int
	MissingFirst []item.ID
}

// FilterRecord is a Filter with the additional data that the HTTP API returns in a list of filters.
type FilterRecord struct {
	Filter
	PlatformPageID int64
	Owner          Owner // zero for filters created over HTTP, which callers can edit over HTTP
	// Changed is the time at which the library received the newest version of the definition.
	Changed time.Time
}
