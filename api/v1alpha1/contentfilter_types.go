package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReadAccess is the token class that may list the items of a filter.
// +kubebuilder:validation:Enum=ReadOnly;ReadWrite
type ReadAccess string

const (
	// ReadAccessReadWrite lets only READ-WRITE tokens list the items.
	ReadAccessReadWrite ReadAccess = "ReadWrite"
	// ReadAccessReadOnly lets READ-ONLY tokens list the items too, but does not show them the query.
	ReadAccessReadOnly ReadAccess = "ReadOnly"
)

// ContentFilterSpec selects items and their order.
//
// +kubebuilder:validation:XValidation:rule="(has(self.propertyRef) ? self.propertyRef.name : 'default') == (has(oldSelf.propertyRef) ? oldSelf.propertyRef.name : 'default')",message="propertyRef cannot change, because ids are derived from it: delete the object and create a new one"
// +kubebuilder:validation:XValidation:rule="has(self.propertyRef) && has(self.propertyRef.__namespace__) ? has(oldSelf.propertyRef) && has(oldSelf.propertyRef.__namespace__) && self.propertyRef.__namespace__ == oldSelf.propertyRef.__namespace__ : !has(oldSelf.propertyRef) || !has(oldSelf.propertyRef.__namespace__)",message="propertyRef cannot change, because ids are derived from it: delete the object and create a new one"
type ContentFilterSpec struct {
	// propertyRef names the Property that the object belongs to. Defaults to "default" in the same namespace. It
	// cannot change, because ids are derived from it.
	// +optional
	PropertyRef *PropertyReference `json:"propertyRef,omitempty"`

	// name is the name of the filter in the HTTP API. Defaults to the name of the object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="name must not be blank"
	Name string `json:"name,omitempty"`

	// query selects the items, in the syntax of docs/query-language.md. If it does not parse, the object stalls and the server keeps
	// serving the last valid version.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="the query must not be blank: use *:* to select every item"
	Query string `json:"query"`

	// sortBy is the order: a comma-separated list of <field>:<asc|desc>, or _score:desc, or random. Defaults to created_on:desc.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	SortBy string `json:"sortBy,omitempty"`

	// favoriteTag puts items with this tag first. The request parameter favorite_tag overrides it.
	// +optional
	FavoriteTag *TagName `json:"favoriteTag,omitempty"`

	// readAccess decides which tokens may list the items. ReadWrite (the default) permits only READ-WRITE tokens; ReadOnly permits both
	// classes. Set it in the manifest, because a GitOps tool does not revert a field that the manifest omits.
	// +optional
	ReadAccess ReadAccess `json:"readAccess,omitempty"`

	// adopt takes over a filter that was created over HTTP, and keeps the ids of the filter. When the object is deleted, the filter returns
	// to its state before the adoption.
	// +optional
	Adopt *AdoptedFilter `json:"adopt,omitempty"`

	// suspend stops reconciliation; the server keeps serving the last applied state.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// AdoptedFilter identifies a filter that was created over HTTP.
type AdoptedFilter struct {
	// filterID is the numeric id of the filter.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	FilterID int64 `json:"filterID"`
}

// ContentFilterStatus is the observed state of a ContentFilter.
type ContentFilterStatus struct {
	// observedGeneration is the newest generation that the operator has processed, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// uuid is the {filter_uuid} of the HTTP API; it never changes.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	UUID string `json:"uuid,omitempty"`

	// id is the numeric id of the filter; it never changes.
	// +optional
	ID int64 `json:"id,omitempty"`

	// url is the URL that lists the items.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	URL string `json:"url,omitempty"`

	// readAccess shows which tokens can currently list the items: ReadWrite for READ-WRITE tokens only, ReadOnly for both classes. It is
	// ReadWrite if spec.readAccess is omitted.
	// +optional
	ReadAccess ReadAccess `json:"readAccess,omitempty"`

	// matchedItems is the approximate number of matching items.
	// +optional
	MatchedItems *int64 `json:"matchedItems,omitempty"`

	// conditions: Ready, Reconciling, Stalled, QueryValid, Conflict, Suspended.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ContentFilter is a saved query with an order. The server lists its items at a URL that never changes.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vfilter,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the server serves the newest spec or, while the object is suspended, the last applied spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition; Suspended while spec.suspend is true and an earlier generation is served"
// +kubebuilder:printcolumn:name="Read Access",type=string,JSONPath=`.status.readAccess`,description="Tokens that can list the items: ReadWrite for READ-WRITE tokens only, ReadOnly for both classes"
// +kubebuilder:printcolumn:name="Items",type=integer,JSONPath=`.status.matchedItems`,description="Approximate number of matching items"
// +kubebuilder:printcolumn:name="Query",type=string,priority=1,JSONPath=`.spec.query`,description="Query of the newest spec"
// +kubebuilder:printcolumn:name="Sort",type=string,priority=1,JSONPath=`.spec.sortBy`,description="Sort order in the newest spec"
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.status.url`,description="URL that lists the items"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciliation is suspended"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Message of the Ready condition: what the server serves, or what is wrong"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type ContentFilter struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec ContentFilterSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status ContentFilterStatus `json:"status,omitempty"`
}

// ContentFilterList is a list of ContentFilters.
//
// +kubebuilder:object:root=true
type ContentFilterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContentFilter `json:"items"`
}

// PropertyName returns the name of the Property in spec.propertyRef, "default" if it is not set.
func (o *ContentFilter) PropertyName() string { return o.Spec.PropertyRef.NameOf() }

// PropertyNamespace returns the namespace of the Property in spec.propertyRef, that of the object if it is not set.
func (o *ContentFilter) PropertyNamespace() string {
	return o.Spec.PropertyRef.NamespaceOf(o.Namespace)
}

// Suspended returns spec.suspend.
func (o *ContentFilter) Suspended() bool { return o.Spec.Suspend }

// StatusConditions returns a pointer to status.conditions.
func (o *ContentFilter) StatusConditions() *[]metav1.Condition { return &o.Status.Conditions }

// StatusObservedGeneration returns a pointer to status.observedGeneration.
func (o *ContentFilter) StatusObservedGeneration() *int64 { return &o.Status.ObservedGeneration }
