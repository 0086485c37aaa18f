package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PropertySpec says what a property is called and how its content may be read.
type PropertySpec struct {
	// displayName is the name that people know the property by.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="displayName must not be blank"
	DisplayName string `json:"displayName"`

	// platformPageID appears as platform_page_id in filter records. Left out, it is derived from namespace and name.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	PlatformPageID *int64 `json:"platformPageID,omitempty"`

	// allowedOrigins are the web pages that may call: scheme, host and port exactly; a leading "*." stands for exactly one
	// label. None: no web page may call.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^https?://([*][.])?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$')",message="an origin is http:// or https://, a host in lower case (a leading *. stands for one label) and maybe a port (1 to 65535), with nothing behind it"
	AllowedOrigins []string `json:"allowedOrigins,omitempty"`

	// rateLimit limits each token of the property. None: unlimited.
	// +optional
	RateLimit *RateLimit `json:"rateLimit,omitempty"`

	// cache sets the times that READ-ONLY callers and CDNs may keep answers. None: maxAge 60s, staleWhileRevalidate 5m.
	// +optional
	Cache *Cache `json:"cache,omitempty"`

	// maintenance, by its presence, has every request answered with 503.
	// +optional
	Maintenance *Maintenance `json:"maintenance,omitempty"`

	// externalURL is the base of links, short links and Location. Left out: the server's --external-url. It is http or https, a host,
	// and at most a port and a path of letters, digits and ._~-, such as https://content.example/base.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://([A-Za-z0-9._-]+|[[][0-9A-Fa-f:.]+])(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?(/[A-Za-z0-9._~-]+)*/?$') && !self.matches('/[.][.]?(/|$)')",message="externalURL must be http or https, a host, and at most a port (1 to 65535) and a path of letters, digits and ._~-, such as https://content.example/base"
	ExternalURL string `json:"externalURL,omitempty"`

	// suspend freezes reconciling; the last state stays served.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// RateLimit is a token bucket.
type RateLimit struct {
	// requestsPerSecond is the lasting rate.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	RequestsPerSecond int32 `json:"requestsPerSecond"`

	// burst is how many requests may come at once.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Burst int32 `json:"burst"`
}

// Cache holds the times of a Cache-Control header.
type Cache struct {
	// maxAge is how long an answer is fresh, 0s to 24h.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="maxAge must be a duration between 0s and 24h, such as 60s"
	MaxAge metav1.Duration `json:"maxAge"`

	// staleWhileRevalidate is how long an answer may be served stale while a new one is fetched, 0s to 168h.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('168h')",message="staleWhileRevalidate must be a duration between 0s and 168h, such as 5m"
	StaleWhileRevalidate metav1.Duration `json:"staleWhileRevalidate"`
}

// Maintenance is what callers are told while the property is closed.
type Maintenance struct {
	// retryAfter is when callers shall come back, 1s to 24h.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="retryAfter must be a duration between 1s and 24h, such as 120s"
	RetryAfter metav1.Duration `json:"retryAfter"`

	// message is the detail of the 503 answer.
	// +optional
	// +kubebuilder:validation:MaxLength=500
	Message string `json:"message,omitempty"`
}

// PropertyStatus is what became of a Property.
type PropertyStatus struct {
	// observedGeneration is the newest generation that was judged, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// items is about how many items the property holds.
	// +optional
	Items *int64 `json:"items,omitempty"`

	// conditions: Ready, Reconciling, Stalled, Conflict, Suspended.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Property is what tokens are scoped to: a library of its own, with its own filters, tags and units. Deleting it stops
// serving and revokes its tokens; items and what was made over HTTP stay stored and return with it.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vprop,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the newest spec is served; while suspended, whether the last applied spec is"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not; Suspended while spec.suspend keeps an earlier generation served"
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.displayName`,description="Name that people know the property by"
// +kubebuilder:printcolumn:name="Items",type=integer,JSONPath=`.status.items`,description="About how many items it holds"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciling is frozen"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="What is served, or what to do"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type Property struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	Spec PropertySpec `json:"spec"`
	// status is what became of it.
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

// PropertyName is the object's own name.
func (p *Property) PropertyName() string { return p.Name }

// Suspended reports spec.suspend.
func (p *Property) Suspended() bool { return p.Spec.Suspend }

// StatusConditions returns status.conditions.
func (p *Property) StatusConditions() *[]metav1.Condition { return &p.Status.Conditions }

// StatusObservedGeneration returns status.observedGeneration.
func (p *Property) StatusObservedGeneration() *int64 { return &p.Status.ObservedGeneration }
