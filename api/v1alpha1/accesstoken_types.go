package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TokenClass is what a token may do.
// +kubebuilder:validation:Enum=ReadOnly;ReadWrite
type TokenClass string

const (
	// ReadOnly tokens read, and see nothing private. They are safe in front-end code.
	ReadOnly TokenClass = "ReadOnly"
	// ReadWrite tokens read and write, and see everything.
	ReadWrite TokenClass = "ReadWrite"
)

// AccessTokenSpec says what a token may do, where its value is, and how long it lasts.
//
// +kubebuilder:validation:XValidation:rule="(has(self.propertyRef) ? self.propertyRef.name : 'default') == (has(oldSelf.propertyRef) ? oldSelf.propertyRef.name : 'default')",message="propertyRef cannot change, since ids are derived from it: delete the object and make a new one"
// +kubebuilder:validation:XValidation:rule="!(has(self.secretName) && has(self.existingSecret))",message="give secretName (a Secret that the operator writes) or existingSecret (one that it reads), not both"
// +kubebuilder:validation:XValidation:rule="!(has(self.rotation) && has(self.existingSecret))",message="the value in existingSecret is yours and is not rotated: leave rotation out"
// +kubebuilder:validation:XValidation:rule="!has(self.filters) || self.class == 'ReadOnly'",message="filters restricts ReadOnly tokens only"
// +kubebuilder:validation:XValidation:rule="!has(self.expiresAfter) || !has(self.rotation) || !self.expiresAfter.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') || !self.rotation.every.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') || duration(self.expiresAfter) > duration(self.rotation.every)",message="expiresAfter must be longer than rotation.every, or the value expires before it is replaced"
type AccessTokenSpec struct {
	// propertyRef names the Property that the object belongs to, in the same namespace. Left out: "default". It cannot
	// change, since ids are derived from it.
	// +optional
	PropertyRef *PropertyReference `json:"propertyRef,omitempty"`

	// class is ReadOnly or ReadWrite.
	Class TokenClass `json:"class"`

	// secretName names the Secret that the operator writes and owns: keys token, url, and ca.crt when the server made its
	// own certificate. Left out: the object's own name. A Secret of that name that is not the operator's is never touched.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="secretName must be the name of a Secret: lowercase letters, digits, dashes and dots"
	SecretName string `json:"secretName,omitempty"`

	// existingSecret names a Secret that holds the value, instead: 32 to 4,096 printable characters, a trailing newline cut.
	// It is read and never written.
	// +optional
	ExistingSecret *SecretKeyReference `json:"existingSecret,omitempty"`

	// expiresAfter is how long a value works, from its issue on: 1m to 999999h. Left out: it does not expire.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1m') && duration(self) <= duration('999999h')",message="expiresAfter must be a duration from 1m to 999999h, such as 720h"
	ExpiresAfter *metav1.Duration `json:"expiresAfter,omitempty"`

	// rotation replaces the value regularly. Left out: never.
	// +optional
	Rotation *Rotation `json:"rotation,omitempty"`

	// filters, for ReadOnly: the token may list these ContentFilters (they too must say readAccess: ReadOnly) and read
	// nothing else. One that is not there grants nothing.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Filters []string `json:"filters,omitempty"`

	// suspend freezes reconciling; the last state stays served. Deletion and expiry
	// still act; rotation pauses.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// SecretKeyReference names a key of a Secret in the same namespace.
type SecretKeyReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="name must be the name of a Secret: lowercase letters, digits, dashes and dots"
	Name string `json:"name"`

	// key within the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// Rotation says when a value is replaced.
//
// +kubebuilder:validation:XValidation:rule="!self.overlap.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') || !self.every.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') || duration(self.overlap) < duration(self.every)",message="overlap must be shorter than every"
type Rotation struct {
	// every is the time between two values, at least 1m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1m')",message="every must be a duration of at least 1m, such as 720h"
	Every metav1.Duration `json:"every"`

	// overlap is how long the old value still works.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('0s')",message="overlap must be a duration, such as 1h"
	Overlap metav1.Duration `json:"overlap"`
}

// AccessTokenStatus is what became of an AccessToken. It never holds a value.
type AccessTokenStatus struct {
	// observedGeneration is the newest generation that was judged, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// secretName names the Secret that holds the value.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`

	// expiresAt is when the present value expires.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// lastRotation is when the present value was issued.
	// +optional
	LastRotation *metav1.Time `json:"lastRotation,omitempty"`

	// conditions: Ready, Reconciling, Stalled, Conflict, Suspended.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AccessToken is a token of one property. Deleting it revokes the token within a second.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vtoken,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the newest spec is served; while suspended, whether the last applied spec is"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not; Suspended while spec.suspend keeps an earlier generation served"
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.spec.class`,description="What the token may do"
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.status.secretName`,description="Secret that holds the value"
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.expiresAt`,description="When the present value expires"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciling is frozen"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="What is served, or what to do"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type AccessToken struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	Spec AccessTokenSpec `json:"spec"`
	// status is what became of it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status AccessTokenStatus `json:"status,omitempty"`
}

// AccessTokenList is a list of AccessTokens.
//
// +kubebuilder:object:root=true
type AccessTokenList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AccessToken `json:"items"`
}

// PropertyName is the name of the Property in spec.propertyRef, "default" when there is none.
func (o *AccessToken) PropertyName() string { return o.Spec.PropertyRef.NameOf() }

// Suspended reports spec.suspend.
func (o *AccessToken) Suspended() bool { return o.Spec.Suspend }

// StatusConditions returns status.conditions.
func (o *AccessToken) StatusConditions() *[]metav1.Condition { return &o.Status.Conditions }

// StatusObservedGeneration returns status.observedGeneration.
func (o *AccessToken) StatusObservedGeneration() *int64 { return &o.Status.ObservedGeneration }
