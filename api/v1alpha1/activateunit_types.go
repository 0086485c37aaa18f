package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ActivateUnitSpec says what a conversion unit is, and which items it is attached to.
//
// +kubebuilder:validation:XValidation:rule="(has(self.propertyRef) ? self.propertyRef.name : 'default') == (has(oldSelf.propertyRef) ? oldSelf.propertyRef.name : 'default')",message="propertyRef cannot change, since ids are derived from it: delete the object and make a new one"
type ActivateUnitSpec struct {
	// propertyRef names the Property that the object belongs to, in the same namespace. Left out: "default". It cannot
	// change, since ids are derived from it.
	// +optional
	PropertyRef *PropertyReference `json:"propertyRef,omitempty"`

	// name of the unit.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="name must not be blank"
	Name string `json:"name"`

	// imageURL is the unit's picture.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="imageURL must be an absolute http or https URL"
	ImageURL string `json:"imageURL"`

	// clickThroughURL is where a click leads.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="clickThroughURL must be an absolute http or https URL"
	ClickThroughURL string `json:"clickThroughURL"`

	// externalID is the unit's id in another system, such as a stock-keeping unit.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ExternalID string `json:"externalID,omitempty"`

	// catalogItem is free JSON, shown as catalog_item; at most 64 KiB.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	CatalogItem *JSON `json:"catalogItem,omitempty"`

	// catalogImageURLSrc is free JSON, shown as catalog_image_url_src; at most 64 KiB.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	CatalogImageURLSrc *JSON `json:"catalogImageURLSrc,omitempty"`

	// archived units stay attached and are never an item's default unit.
	// +optional
	Archived bool `json:"archived,omitempty"`

	// default makes it the property's default_activate_unit. The older of two such units holds it.
	// +optional
	Default bool `json:"default,omitempty"`

	// activateUnitLibrary is a number shown as activate_unit_library. Left out: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	ActivateUnitLibrary *int64 `json:"activateUnitLibrary,omitempty"`

	// clickUnitLibrary is a number shown as click_unit_library. Left out: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	ClickUnitLibrary *int64 `json:"clickUnitLibrary,omitempty"`

	// items lists ids that the unit is attached to, at most 10,000. Ids that are not in the library are counted in status.missing and take
	// effect when the items come.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=9007199254740991
	Items []int64 `json:"items,omitempty"`

	// selector chooses further items by a query. It may name tags, but not activate_units….
	// +optional
	Selector *Selector `json:"selector,omitempty"`

	// suspend freezes reconciling; the last state stays served.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ActivateUnitStatus is what became of an ActivateUnit.
type ActivateUnitStatus struct {
	// observedGeneration is the newest generation that was judged, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// id is the unit's id in the HTTP interface; it stays the same for ever.
	// +optional
	ID int64 `json:"id,omitempty"`

	// url shows the unit.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	URL string `json:"url,omitempty"`

	// attached is about how many items the unit is attached to because of this object.
	// +optional
	Attached *int64 `json:"attached,omitempty"`

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

// ActivateUnit is a conversion unit (a purchase, a sign-up and so on) and the items it is attached to: by id or by rule,
// now and later.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vunit,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the newest spec is served; while suspended, whether the last applied spec is"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not; Suspended while spec.suspend keeps an earlier generation served"
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.name`,description="Name of the unit"
// +kubebuilder:printcolumn:name="Attached",type=integer,JSONPath=`.status.attached`,description="About how many items the unit is attached to because of this object"
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.status.url`,description="Address that shows the unit"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciling is frozen"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="What is served, or what to do"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type ActivateUnit struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	Spec ActivateUnitSpec `json:"spec"`
	// status is what became of it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status ActivateUnitStatus `json:"status,omitempty"`
}

// ActivateUnitList is a list of ActivateUnits.
//
// +kubebuilder:object:root=true
type ActivateUnitList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ActivateUnit `json:"items"`
}

// PropertyName is the name of the Property in spec.propertyRef, "default" when there is none.
func (o *ActivateUnit) PropertyName() string { return o.Spec.PropertyRef.NameOf() }

// Suspended reports spec.suspend.
func (o *ActivateUnit) Suspended() bool { return o.Spec.Suspend }

// StatusConditions returns status.conditions.
func (o *ActivateUnit) StatusConditions() *[]metav1.Condition { return &o.Status.Conditions }

// StatusObservedGeneration returns status.observedGeneration.
func (o *ActivateUnit) StatusObservedGeneration() *int64 { return &o.Status.ObservedGeneration }
