package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TagSpec says which items carry a tag.
//
// +kubebuilder:validation:XValidation:rule="(has(self.propertyRef) ? self.propertyRef.name : 'default') == (has(oldSelf.propertyRef) ? oldSelf.propertyRef.name : 'default')",message="propertyRef cannot change, since ids are derived from it: delete the object and make a new one"
// +kubebuilder:validation:XValidation:rule="(has(self.items) && size(self.items) > 0) || has(self.selector)",message="say which items carry the tag: give items, a selector, or both"
type TagSpec struct {
	// propertyRef names the Property that the object belongs to, in the same namespace. Left out: "default". It cannot
	// change, since ids are derived from it.
	// +optional
	PropertyRef *PropertyReference `json:"propertyRef,omitempty"`

	// namespace of the tag. marketer_tags is the one that dashboards show.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z][a-z0-9_-]{0,62}$')",message="a namespace begins with a lowercase letter and goes on with lowercase letters, digits, _ and -, 63 characters at most"
	// +kubebuilder:validation:XValidation:rule="self != 'ugc'",message="the namespace ugc is reserved: its path lists the tags of an item"
	Namespace string `json:"namespace"`

	// key of the tag: lowercase letters only.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]{1,64}$')",message="a key is 1 to 64 lowercase letters"
	Key string `json:"key"`

	// items lists ids that carry the tag, at most 10,000. Ids that are not in the library are counted in status.missing and take
	// effect when the items come.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=9007199254740991
	Items []int64 `json:"items,omitempty"`

	// selector chooses further items by a query. It may not name tags… or activate_units….
	// +optional
	Selector *Selector `json:"selector,omitempty"`

	// suspend freezes reconciling; the last state stays served.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// TagStatus is what became of a Tag.
type TagStatus struct {
	// observedGeneration is the newest generation that was judged, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// applied is about how many items carry the tag because of this object.
	// +optional
	Applied *int64 `json:"applied,omitempty"`

	// missing tells which of spec.items are not in the library; left out when all are.
	// +optional
	Missing *MissingItems `json:"missing,omitempty"`

	// conditions: Ready, Reconciling, Stalled, QueryValid, Conflict, Suspended.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Tag is a namespace and a key, and the items that carry it: by id or by rule, now and later. Deleting it takes away what
// it brought; an item that was tagged over HTTP as well keeps its tag.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vtag,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the newest spec is served; while suspended, whether the last applied spec is"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not; Suspended while spec.suspend keeps an earlier generation served"
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.namespace`,description="Namespace of the tag"
// +kubebuilder:printcolumn:name="Key",type=string,JSONPath=`.spec.key`,description="Key of the tag"
// +kubebuilder:printcolumn:name="Applied",type=integer,JSONPath=`.status.applied`,description="About how many items carry the tag because of this object"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciling is frozen"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="What is served, or what to do"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type Tag struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	Spec TagSpec `json:"spec"`
	// status is what became of it.
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

// PropertyName is the name of the Property in spec.propertyRef, "default" when there is none.
func (o *Tag) PropertyName() string { return o.Spec.PropertyRef.NameOf() }

// Suspended reports spec.suspend.
func (o *Tag) Suspended() bool { return o.Spec.Suspend }

// StatusConditions returns status.conditions.
func (o *Tag) StatusConditions() *[]metav1.Condition { return &o.Status.Conditions }

// StatusObservedGeneration returns status.observedGeneration.
func (o *Tag) StatusObservedGeneration() *int64 { return &o.Status.ObservedGeneration }
