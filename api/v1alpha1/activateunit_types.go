package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ActivateUnitSpec describes a conversion unit and selects the items that it is attached to.
//
// +kubebuilder:validation:XValidation:rule="(has(self.propertyRef) ? self.propertyRef.name : 'default') == (has(oldSelf.propertyRef) ? oldSelf.propertyRef.name : 'default')",message="propertyRef cannot change, because ids are derived from it: delete the object and create a new one"
// +kubebuilder:validation:XValidation:rule="has(self.propertyRef) && has(self.propertyRef.__namespace__) ? has(oldSelf.propertyRef) && has(oldSelf.propertyRef.__namespace__) && self.propertyRef.__namespace__ == oldSelf.propertyRef.__namespace__ : !has(oldSelf.propertyRef) || !has(oldSelf.propertyRef.__namespace__)",message="propertyRef cannot change, because ids are derived from it: delete the object and create a new one"
type ActivateUnitSpec struct {
	// propertyRef names the Property that the object belongs to. Defaults to "default" in the same namespace. It
	// cannot change, because ids are derived from it.
	// +optional
	PropertyRef *PropertyReference `json:"propertyRef,omitempty"`

	// name is the name of the unit.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="name must not be blank"
	Name string `json:"name"`

	// imageURL is the URL of the unit's image.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="imageURL must be an absolute http or https URL"
	ImageURL string `json:"imageURL"`

	// clickThroughURL is the URL that a click opens.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="clickThroughURL must be an absolute http or https URL"
	ClickThroughURL string `json:"clickThroughURL"`

	// externalID is the id of the unit in another system, such as a stock-keeping unit (SKU).
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ExternalID string `json:"externalID,omitempty"`

	// catalogItem is any JSON value up to 64 KiB. The API returns it as catalog_item.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	CatalogItem *JSON `json:"catalogItem,omitempty"`

	// catalogImageURLSrc is any JSON value up to 64 KiB. The API returns it as catalog_image_url_src.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	CatalogImageURLSrc *JSON `json:"catalogImageURLSrc,omitempty"`

	// archived marks the unit as archived. An archived unit stays attached to its items, but is never the default unit of an item.
	// +optional
	Archived bool `json:"archived,omitempty"`

	// default makes the unit the default_activate_unit of the property. If several units set default, the oldest one is the default.
	// +optional
	Default bool `json:"default,omitempty"`

	// activateUnitLibrary is the value of activate_unit_library in the API. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	ActivateUnitLibrary *int64 `json:"activateUnitLibrary,omitempty"`

	// clickUnitLibrary is the value of click_unit_library in the API. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	ClickUnitLibrary *int64 `json:"clickUnitLibrary,omitempty"`

	// items lists the ids of up to 10,000 items that the unit is attached to. Ids that are not in the library are counted in
	// status.missing and take effect when the items arrive.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=9007199254740991
	Items []int64 `json:"items,omitempty"`

	// selector selects further items by a query. The query can use the fields tags.*, but not activate_units.*.
	// +optional
	Selector *Selector `json:"selector,omitempty"`

	// suspend stops reconciliation; the server keeps serving the last applied state.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ActivateUnitStatus is the observed state of an ActivateUnit.
type ActivateUnitStatus struct {
	// observedGeneration is the newest generation that the operator has processed, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// id is the id of the unit in the HTTP API; it never changes.
	// +optional
	ID int64 `json:"id,omitempty"`

	// url is the URL of the unit in the HTTP API.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	URL string `json:"url,omitempty"`

	// attached is the approximate number of items that this object attaches the unit to.
	// +optional
	Attached *int64 `json:"attached,omitempty"`

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

// ActivateUnit is a conversion unit (a purchase, a sign-up and so on) with the items that it is attached to. Items are
// listed by id or selected by a query; matching items that arrive later are included.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vunit,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the server serves the newest spec or, while the object is suspended, the last applied spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition; Suspended while spec.suspend is true and an earlier generation is served"
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.name`,description="Name of the unit"
// +kubebuilder:printcolumn:name="Attached",type=integer,JSONPath=`.status.attached`,description="Approximate number of items that this object attaches the unit to"
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.status.url`,description="URL of the unit in the HTTP API"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciliation is suspended"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Message of the Ready condition: what the server serves, or what is wrong"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type ActivateUnit struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec ActivateUnitSpec `json:"spec"`
	// status is the observed state.
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

// PropertyName returns the name of the Property in spec.propertyRef, "default" if it is not set.
func (o *ActivateUnit) PropertyName() string { return o.Spec.PropertyRef.NameOf() }

// PropertyNamespace returns the namespace of the Property in spec.propertyRef, that of the object if it is not set.
func (o *ActivateUnit) PropertyNamespace() string { return o.Spec.PropertyRef.NamespaceOf(o.Namespace) }

// Suspended returns spec.suspend.
func (o *ActivateUnit) Suspended() bool { return o.Spec.Suspend }

// StatusConditions returns a pointer to status.conditions.
func (o *ActivateUnit) StatusConditions() *[]metav1.Condition { return &o.Status.Conditions }

// StatusObservedGeneration returns a pointer to status.observedGeneration.
func (o *ActivateUnit) StatusObservedGeneration() *int64 { return &o.Status.ObservedGeneration }
