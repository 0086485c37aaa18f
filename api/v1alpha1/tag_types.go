package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TagSpec names a tag and selects the items that carry it.
//
// +kubebuilder:validation:XValidation:rule="(has(self.propertyRef) ? self.propertyRef.name : 'default') == (has(oldSelf.propertyRef) ? oldSelf.propertyRef.name : 'default')",message="propertyRef cannot change: delete the object and create a new one"
// +kubebuilder:validation:XValidation:rule="has(self.propertyRef) && has(self.propertyRef.__namespace__) ? has(oldSelf.propertyRef) && has(oldSelf.propertyRef.__namespace__) && self.propertyRef.__namespace__ == oldSelf.propertyRef.__namespace__ : !has(oldSelf.propertyRef) || !has(oldSelf.propertyRef.__namespace__)",message="propertyRef cannot change: delete the object and create a new one"
// +kubebuilder:validation:XValidation:rule="(has(self.items) && size(self.items) > 0) || has(self.selector)",message="set items, selector, or both, to select the items that carry the tag"
type TagSpec struct {
	// propertyRef names the Property that the object belongs to. Defaults to "default" in the same namespace. It cannot change: delete the
	// object and create a new one.
	// +optional
	PropertyRef *PropertyReference `json:"propertyRef,omitempty"`

	// namespace is the namespace of the tag. Dashboards show the tags in the namespace marketer_tags.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z][a-z0-9_-]{0,62}$')",message="namespace must start with a lowercase letter, followed by up to 62 lowercase letters, digits, _ and -"
	// +kubebuilder:validation:XValidation:rule="self != 'ugc'",message="the namespace ugc is reserved for the endpoint that lists the tags of an item"
	Namespace string `json:"namespace"`

	// key is the key of the tag: 1 to 64 lowercase letters.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]{1,64}$')",message="key must be 1 to 64 lowercase letters"
	Key string `json:"key"`

	// items lists the ids of up to 10,000 items that carry the tag. Ids that are not in the library are counted in status.missing
	// and take effect when the items arrive.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=9007199254740991
	Items []int64 `json:"items,omitempty"`

	// selector selects further items by a query. The query cannot use the fields tags.* and activate_units.*.
	// +optional
	Selector *Selector `json:"selector,omitempty"`

	// suspend stops reconciliation; the server keeps serving the last applied state.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// TagStatus is the observed state of a Tag.
type TagStatus struct {
	// observedGeneration is the newest generation that the operator has processed, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// applied is the approximate number of items that this object tags.
	// +optional
	Applied *int64 `json:"applied,omitempty"`

	// missing reports the ids in spec.items that are not in the library. It is absent if all of these items are in the library.
	// +optional
	Missing *MissingItems `json:"missing,omitempty"`

	// conditions: Ready, Reconciling, Stalled, QueryValid, Conflict, Suspended.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Tag is a tag (a namespace and a key) with the items that carry it. Items are listed by id or selected by a query; matching items that
// arrive later are included. Deleting the object removes the tag from these items, unless it was also set over HTTP.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vtag,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the server serves the newest spec or, while the object is suspended, the last applied spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition; Suspended while spec.suspend is true and an earlier generation is served"
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.namespace`,description="Namespace of the tag"
// +kubebuilder:printcolumn:name="Key",type=string,JSONPath=`.spec.key`,description="Key of the tag"
// +kubebuilder:printcolumn:name="Applied",type=integer,JSONPath=`.status.applied`,description="Approximate number of items that this object tags"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciliation is suspended"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Message of the Ready condition: what the server serves, or what is wrong"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type Tag struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec TagSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status TagStatus `json:"status,omitempty"`
}

// TagList is a list of Tags.
//
// +kubebuilder:object:root=true
type TagList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Tag `json:"items"`
}

// PropertyName returns the name of the Property in spec.propertyRef, "default" if it is not set.
func (o *Tag) PropertyName() string { return o.Spec.PropertyRef.NameOf() }

// PropertyNamespace returns the namespace of the Property in spec.propertyRef, that of the object if it is not set.
func (o *Tag) PropertyNamespace() string { return o.Spec.PropertyRef.NamespaceOf(o.Namespace) }

// Suspended returns spec.suspend.
func (o *Tag) Suspended() bool { return o.Spec.Suspend }

// StatusConditions returns a pointer to status.conditions.
func (o *Tag) StatusConditions() *[]metav1.Condition { return &o.Status.Conditions }

// StatusObservedGeneration returns a pointer to status.observedGeneration.
func (o *Tag) StatusObservedGeneration() *int64 { return &o.Status.ObservedGeneration }
