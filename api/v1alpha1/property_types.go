package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PropertySpec configures a property.
//
// +kubebuilder:validation:XValidation:rule="!has(self.moderation) || !has(self.moderation.rejectionReason) || self.moderation.rejectionReason != 'Required' || !has(self.history) || self.history.entries > 0",message="rejectionReason Required needs a history, which keeps the reasons: set history.entries to at least 1, or remove history"
type PropertySpec struct {
	// displayName is the human-readable name of the property.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="displayName must not be blank"
	DisplayName string `json:"displayName"`

	// platformPageID is the platform_page_id in filter records. By default, it is derived from the namespace and the name of the object.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	PlatformPageID *int64 `json:"platformPageID,omitempty"`

	// allowedOrigins lists the origins of web pages that may call the API (CORS). Scheme, host and port must match exactly; a leading
	// "*." matches exactly one label. By default, no web page may call the API.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^https?://([*][.])?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$')",message="an origin must consist of http:// or https://, a lowercase host (a leading *. matches one label) and an optional port (1 to 65535), without a path"
	AllowedOrigins []string `json:"allowedOrigins,omitempty"`

	// rateLimit limits the requests of each token of the property. Unlimited by default.
	// +optional
	RateLimit *RateLimit `json:"rateLimit,omitempty"`

	// cache sets how long READ-ONLY callers and CDNs may cache responses. Defaults to maxAge 60s and staleWhileRevalidate 5m.
	// +optional
	Cache *Cache `json:"cache,omitempty"`

	// maintenance, if present, makes the server answer every request to the property with 503.
	// +optional
	Maintenance *Maintenance `json:"maintenance,omitempty"`

	// externalURL is the base URL of links, short links and Location headers, such as https://content.example/base. It consists of http://
	// or https://, a host, and optionally a port and a path of letters, digits and ._~-. Defaults to the server's --external-url.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://([A-Za-z0-9._-]+|[[][0-9A-Fa-f:.]+])(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?(/[A-Za-z0-9._~-]+)*/?$') && !self.matches('/[.][.]?(/|$)')",message="externalURL must consist of http or https, a host, and optionally a port (1 to 65535) and a path of letters, digits and ._~-, such as https://content.example/base"
	ExternalURL string `json:"externalURL,omitempty"`

	// readOnlyQuery is the scope of the READ-ONLY tokens of the property that have no query of their own, in the syntax of
	// docs/query-language.md: an item that does not match it does not exist for these tokens. approval_status:app shows them only approved
	// items. It may use private fields. By default, these tokens read all items.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="the query must not be blank: use *:* to select every item"
	ReadOnlyQuery string `json:"readOnlyQuery,omitempty"`

	// history configures the history of changes that the server keeps for each item. By default, it keeps the newest 50 changes.
	// +optional
	History *History `json:"history,omitempty"`

	// moderation configures decisions on items.
	// +optional
	Moderation *Moderation `json:"moderation,omitempty"`

	// allowFrom lets objects in other namespaces belong to the property. They name it in their spec.propertyRef. By default, only objects in
	// the namespace of the Property belong to it. When a grant is removed, the server stops serving the objects that no other grant permits.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	AllowFrom []PropertyGrant `json:"allowFrom,omitempty"`

	// source names the Git repository with the manifests of the property. The console then links to the page of the Git host on which a user
	// proposes a manifest. Vitrine itself never accesses the repository. By default, the console only exports manifests.
	// +optional
	Source *PropertySource `json:"source,omitempty"`

	// suspend stops reconciliation; the server keeps serving the last applied state.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// PropertySource is a directory of a Git repository.
type PropertySource struct {
	// repository is the URL of the repository's page, such as https://github.com/shop/content.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~-]+)+$') && !self.matches('/[.][.]?(/|$)') && !self.endsWith('.git')",message="repository must be the https URL of the repository's page, without .git at the end, such as https://github.com/shop/content"
	Repository string `json:"repository"`

	// host is the software of the Git host. Forgejo counts as Gitea. By default, a host with github or gitlab in its name is GitHub or GitLab,
	// and any other host is Gitea.
	// +optional
	// +kubebuilder:validation:Enum=GitHub;GitLab;Gitea
	Host string `json:"host,omitempty"`

	// branch is the branch that a pull request changes. Defaults to main.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_]+([./-]+[A-Za-z0-9_]+)*$') && !self.contains('..') && !self.contains('//')",message="branch must be the name of a branch, made of letters, digits and ._/-"
	Branch string `json:"branch,omitempty"`

	// path is the directory of the manifests. The console proposes the file NAME.yaml in it, where NAME is metadata.name. Defaults to the root.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$') && !self.matches('(^|/)[.][.]?(/|$)')",message="path must be a directory in the repository, such as content/shop, without a slash at the beginning or the end"
	Path string `json:"path,omitempty"`
}

// PropertyGrant lets objects in other namespaces belong to a property.
//
// +kubebuilder:validation:XValidation:rule="'AccessToken' in self.kinds || !has(self.classes) && !has(self.filters)",message="classes and filters limit AccessTokens: add AccessToken to kinds, or remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.filters) || !has(self.classes) || !('ReadWrite' in self.classes)",message="filters permits only ReadOnly tokens, because only these can be limited to filters: remove ReadWrite from classes, or remove filters"
type PropertyGrant struct {
	// namespaces selects the namespaces of the objects.
	Namespaces GrantedNamespaces `json:"namespaces"`

	// kinds lists the kinds of the objects.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=AccessToken;ContentFilter;Tag;ActivateUnit
	Kinds []string `json:"kinds"`

	// classes lists the classes of the AccessTokens. Defaults to ReadOnly.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	Classes []TokenClass `json:"classes,omitempty"`

	// filters lists names of ContentFilters in the namespace of the Property. If it is set, an AccessToken must have spec.filters, and may name
	// only these.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Filters []string `json:"filters,omitempty"`
}

// GrantedNamespaces selects namespaces by name or by label.
//
// +kubebuilder:validation:XValidation:rule="has(self.names) != has(self.matchLabels)",message="set names or matchLabels, and not both"
type GrantedNamespaces struct {
	// names lists namespaces. They need not exist yet.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Names []string `json:"names,omitempty"`

	// matchLabels selects the namespaces that have all of these labels. It needs an operator that watches all namespaces.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
}

// RateLimit configures a token bucket.
type RateLimit struct {
	// requestsPerSecond is the sustained rate.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	RequestsPerSecond int32 `json:"requestsPerSecond"`

	// burst is the number of requests that may arrive at once.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Burst int32 `json:"burst"`
}

// Cache configures the Cache-Control header.
type Cache struct {
	// maxAge is how long a response is fresh, 0s to 24h.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="maxAge must be a duration between 0s and 24h, such as 60s"
	MaxAge metav1.Duration `json:"maxAge"`

	// staleWhileRevalidate is how long a cache may serve a stale response while it fetches a new one, 0s to 168h.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('168h')",message="staleWhileRevalidate must be a duration between 0s and 168h, such as 5m"
	StaleWhileRevalidate metav1.Duration `json:"staleWhileRevalidate"`
}

// History configures the histories of items.
type History struct {
	// entries is the number of changes that the server keeps for each item; 0 turns histories off. If you lower it, the server no longer
	// shows older changes, and deletes those of an item when the item changes.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=200
	Entries int32 `json:"entries"`
}

// RejectionReason says whether a request that rejects an item must contain a reason.
// +kubebuilder:validation:Enum=Required;Optional
type RejectionReason string

const (
	// RejectionReasonRequired refuses requests that reject an item without a reason.
	RejectionReasonRequired RejectionReason = "Required"
	// RejectionReasonOptional permits them.
	RejectionReasonOptional RejectionReason = "Optional"
)

// Moderation configures decisions on items.
type Moderation struct {
	// rejectionReason decides whether a request that sets the approval status of an item to rejected must contain a reason, which the history
	// of the item keeps. Imports and new items need no reason. Defaults to Optional.
	// +optional
	RejectionReason RejectionReason `json:"rejectionReason,omitempty"`
}

// Maintenance configures the 503 response of a property under maintenance.
type Maintenance struct {
	// retryAfter is the value of the Retry-After header, 1s to 24h.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="retryAfter must be a duration between 1s and 24h, such as 120s"
	RetryAfter metav1.Duration `json:"retryAfter"`

	// message is the detail of the 503 response.
	// +optional
	// +kubebuilder:validation:MaxLength=500
	Message string `json:"message,omitempty"`
}

// PropertyStatus is the observed state of a Property.
type PropertyStatus struct {
	// observedGeneration is the newest generation that the operator has processed, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// items is the approximate number of items in the property.
	// +optional
	Items *int64 `json:"items,omitempty"`

	// conditions: Ready, Reconciling, Stalled, QueryValid, Conflict, Suspended.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Property is a content library with its own items, filters, tags, units and tokens. When the object is deleted, the server stops serving
// the property and revokes its tokens. Items and definitions created over HTTP stay stored, and return when the Property is created again.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vprop,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the server serves the newest spec or, while the object is suspended, the last applied spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition; Suspended while spec.suspend is true and an earlier generation is served"
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.displayName`,description="Display name of the property"
// +kubebuilder:printcolumn:name="Items",type=integer,JSONPath=`.status.items`,description="Approximate number of items"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciliation is suspended"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Message of the Ready condition: what the server serves, or what is wrong"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type Property struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec PropertySpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status PropertyStatus `json:"status,omitempty"`
}

// PropertyList is a list of Properties.
//
// +kubebuilder:object:root=true
type PropertyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Property `json:"items"`
}

// PropertyName returns the name of the object.
func (p *Property) PropertyName() string { return p.Name }

// PropertyNamespace returns the namespace of the object.
func (p *Property) PropertyNamespace() string { return p.Namespace }

// Suspended returns spec.suspend.
func (p *Property) Suspended() bool { return p.Spec.Suspend }

// StatusConditions returns a pointer to status.conditions.
func (p *Property) StatusConditions() *[]metav1.Condition { return &p.Status.Conditions }

// StatusObservedGeneration returns a pointer to status.observedGeneration.
func (p *Property) StatusObservedGeneration() *int64 { return &p.Status.ObservedGeneration }
