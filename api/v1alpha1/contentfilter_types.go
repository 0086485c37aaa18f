package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReadAccess is who may list the items of a filter.
// +kubebuilder:validation:Enum=ReadOnly;ReadWrite
type ReadAccess string

const (
	// ReadAccessReadWrite lets READ-WRITE tokens list the items, as the specification documents.
	ReadAccessReadWrite ReadAccess = "ReadWrite"
	// ReadAccessReadOnly lets READ-ONLY tokens list them too; the query stays hidden from those.
	ReadAccessReadOnly ReadAccess = "ReadOnly"
)

// ContentFilterSpec says which items are shown, and in which order.
//
// +kubebuilder:validation:XValidation:rule="(has(self.propertyRef) ? self.propertyRef.name : 'default') == (has(oldSelf.propertyRef) ? oldSelf.propertyRef.name : 'default')",message="propertyRef cannot change, since ids are derived from it: delete the object and make a new one"
type ContentFilterSpec struct {
	// propertyRef names the Property that the object belongs to, in the same namespace. Left out: "default". It cannot
	// change, since ids are derived from it.
	// +optional
	PropertyRef *PropertyReference `json:"propertyRef,omitempty"`

	// name is the name of the filter record. Left out: the object's own name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="name must not be blank"
	Name string `json:"name,omitempty"`

	// query in the language of docs/query-language.md. One that does not parse stalls the object; the last good version
	// stays served.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="the query must not be blank; *:* is everything"
	Query string `json:"query"`

	// sortBy is a comma-separated list of <field>:<asc|desc>, or _score:desc, or random. Left out: created_on:desc.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	SortBy string `json:"sortBy,omitempty"`

	// favoriteTag: items that carry it come first, where the request names no favorite_tag.
	// +optional
	FavoriteTag *TagName `json:"favoriteTag,omitempty"`

	// readAccess says who may list the items. Left out: ReadWrite. Set it in the manifest: GitOps tools do not revert a member that
	// the manifest leaves out.
	// +optional
	ReadAccess ReadAccess `json:"readAccess,omitempty"`

	// adopt takes over a filter made over HTTP, with its ids; deleting the object gives it back.
	// +optional
	Adopt *AdoptedFilter `json:"adopt,omitempty"`

	// suspend freezes reconciling; the last state stays served.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// AdoptedFilter names a filter made over HTTP.
type AdoptedFilter struct {
	// filterID is its numeric id.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	FilterID int64 `json:"filterID"`
}

// ContentFilterStatus is what became of a ContentFilter.
type ContentFilterStatus struct {
	// observedGeneration is the newest generation that was judged, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// uuid is the {filter_uuid} of the HTTP interface; it stays the same for ever.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	UUID string `json:"uuid,omitempty"`

	// id is the numeric id of the filter; it stays the same for ever.
	// +optional
	ID int64 `json:"id,omitempty"`

	// url lists the items.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	URL string `json:"url,omitempty"`

	// readAccess is the served class of the tokens that can list the items; ReadOnly stands for both classes. It is
	// spec.readAccess, or ReadWrite where that is left out.
	// +optional
	ReadAccess ReadAccess `json:"readAccess,omitempty"`

	// matchedItems is about how many items match.
	// +optional
	MatchedItems *int64 `json:"matchedItems,omitempty"`

	// conditions: Ready, Reconciling, Stalled, QueryValid, Conflict, Suspended.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ContentFilter is a saved query and an order: a chosen set of items, in a chosen order, under an address that stays.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vfilter,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the newest spec is served; while suspended, whether the last applied spec is"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not; Suspended while spec.suspend keeps an earlier generation served"
// +kubebuilder:printcolumn:name="Read Access",type=string,JSONPath=`.status.readAccess`,description="Class of the tokens that can list the items: ReadOnly stands for both classes"
// +kubebuilder:printcolumn:name="Items",type=integer,JSONPath=`.status.matchedItems`,description="About how many items match"
// +kubebuilder:printcolumn:name="Query",type=string,priority=1,JSONPath=`.spec.query`,description="Query of the newest spec"
// +kubebuilder:printcolumn:name="Sort",type=string,priority=1,JSONPath=`.spec.sortBy`,description="Order of the newest spec"
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.status.url`,description="Address that lists the items"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciling is frozen"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="What is served, or what to do"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type ContentFilter struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	Spec ContentFilterSpec `json:"spec"`
	// status is what became of it.
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

// PropertyName is the name of the Property in spec.propertyRef, "default" when there is none.
func (o *ContentFilter) PropertyName() string { return o.Spec.PropertyRef.NameOf() }

// Suspended reports spec.suspend.
func (o *ContentFilter) Suspended() bool { return o.Spec.Suspend }

// StatusConditions returns status.conditions.
func (o *ContentFilter) StatusConditions() *[]metav1.Condition { return &o.Status.Conditions }

// StatusObservedGeneration returns status.observedGeneration.
func (o *ContentFilter) StatusObservedGeneration() *int64 { return &o.Status.ObservedGeneration }
