package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TokenClass is the set of operations that a token allows.
// +kubebuilder:validation:Enum=ReadOnly;ReadWrite
type TokenClass string

const (
	// ReadOnly tokens read, and never see private fields. They are safe in front-end code.
	ReadOnly TokenClass = "ReadOnly"
	// ReadWrite tokens read and write, and see every field.
	ReadWrite TokenClass = "ReadWrite"
)

// TokenAction is a group of operations that a READ-WRITE token may be limited to.
// +kubebuilder:validation:Enum=AddItems;Moderate;Tag;ManageFilters;ReadPrivate;Export;Import;Erase
type TokenAction string

// TokenScope names what limits the items that a token reads.
// +kubebuilder:validation:Enum=Filters;Query;Property;AllItems
type TokenScope string

const (
	// ScopeFilters is the scope of a token that lists only the items of the ContentFilters in spec.filters.
	ScopeFilters TokenScope = "Filters"
	// ScopeQuery is the scope of a token with spec.query.
	ScopeQuery TokenScope = "Query"
	// ScopeProperty is the scope of a ReadOnly token that spec.readOnlyQuery of its Property limits.
	ScopeProperty TokenScope = "Property"
	// ScopeAllItems is the scope of a token that reads all items.
	ScopeAllItems TokenScope = "AllItems"
)

// AccessTokenSpec configures what a token allows, where its value is stored, and how long it is valid.
//
// +kubebuilder:validation:XValidation:rule="(has(self.propertyRef) ? self.propertyRef.name : 'default') == (has(oldSelf.propertyRef) ? oldSelf.propertyRef.name : 'default')",message="propertyRef cannot change: delete the object and create a new one"
// +kubebuilder:validation:XValidation:rule="has(self.propertyRef) && has(self.propertyRef.__namespace__) ? has(oldSelf.propertyRef) && has(oldSelf.propertyRef.__namespace__) && self.propertyRef.__namespace__ == oldSelf.propertyRef.__namespace__ : !has(oldSelf.propertyRef) || !has(oldSelf.propertyRef.__namespace__)",message="propertyRef cannot change: delete the object and create a new one"
// +kubebuilder:validation:XValidation:rule="!(has(self.secretName) && has(self.existingSecret))",message="set secretName (a Secret that the operator writes) or existingSecret (a Secret that it reads), not both"
// +kubebuilder:validation:XValidation:rule="!(has(self.rotation) && has(self.existingSecret))",message="the operator does not rotate the value in existingSecret: remove rotation"
// +kubebuilder:validation:XValidation:rule="!has(self.filters) || self.class == 'ReadOnly'",message="filters is allowed only if class is ReadOnly"
// +kubebuilder:validation:XValidation:rule="!has(self.allow) || self.class == 'ReadWrite'",message="allow is permitted only if class is ReadWrite: a ReadOnly token never writes and never sees private fields"
// +kubebuilder:validation:XValidation:rule="!has(self.allow) || !('Export' in self.allow) || 'ReadPrivate' in self.allow",message="Export in allow needs ReadPrivate too, because an export contains the private fields"
// +kubebuilder:validation:XValidation:rule="!has(self.query) || !has(self.allow) || !('Import' in self.allow)",message="a token with a query cannot import: remove Import from allow, or remove query"
// +kubebuilder:validation:XValidation:rule="!has(self.expiresAfter) || !has(self.rotation) || !self.expiresAfter.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') || !self.rotation.every.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') || duration(self.expiresAfter) > duration(self.rotation.every)",message="expiresAfter must be longer than rotation.every, otherwise the value expires before it is replaced"
// +kubebuilder:validation:XValidation:rule="!has(self.subjects) || !has(self.filters)",message="subjects is not permitted with filters: the console cannot use a token that can only list certain filters"
type AccessTokenSpec struct {
	// propertyRef names the Property that the object belongs to. Defaults to "default" in the same namespace. It cannot change: delete the
	// object and create a new one.
	// +optional
	PropertyRef *PropertyReference `json:"propertyRef,omitempty"`

	// class is the token class: ReadOnly or ReadWrite.
	Class TokenClass `json:"class"`

	// secretName is the name of the Secret that the operator writes and owns. Its keys are token, url, and ca.crt if the server
	// created its own certificate. Defaults to the name of the object. The operator never changes a Secret that it does not own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="secretName must be the name of a Secret: lowercase letters, digits, dashes and dots"
	SecretName string `json:"secretName,omitempty"`

	// existingSecret names a Secret that a user provides, with a token value of 32 to 4,096 printable ASCII characters without spaces. The
	// operator ignores a trailing newline, and never writes the Secret.
	// +optional
	ExistingSecret *SecretKeyReference `json:"existingSecret,omitempty"`

	// expiresAfter is how long a value is valid after it was issued: 1m to 999999h. By default, a value does not expire.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1m') && duration(self) <= duration('999999h')",message="expiresAfter must be a duration from 1m to 999999h, such as 720h"
	ExpiresAfter *metav1.Duration `json:"expiresAfter,omitempty"`

	// rotation replaces the value regularly. By default, the operator never replaces a value.
	// +optional
	Rotation *Rotation `json:"rotation,omitempty"`

	// filters restricts a ReadOnly token to the ContentFilters with these names in the namespace of the Property. The token can list only
	// those that set readAccess: ReadOnly. The name of a ContentFilter that does not exist grants nothing.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Filters []string `json:"filters,omitempty"`

	// query is the scope of the token, in the syntax of docs/query-language.md: an item that does not match it does not exist for the
	// token. It may use private fields. By default, spec.readOnlyQuery of the Property is the scope of a ReadOnly token, and a ReadWrite
	// token reads all items. If the query does not parse, the object stalls and the server keeps serving the last valid version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="the query must not be blank: use *:* to select every item"
	Query string `json:"query,omitempty"`

	// allow limits a ReadWrite token to these actions: AddItems, Moderate, Tag, ManageFilters, ReadPrivate, Export, Import, Erase. Reads of
	// public fields need no action. Export needs ReadPrivate too. By default, a ReadWrite token is allowed every action.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Allow []TokenAction `json:"allow,omitempty"`

	// subjects are the people who can log in to the console with the rights of this token, but without its value, through the identity
	// provider of the server (docs/console-setup.md). Without such a provider, subjects have no effect, and the condition SubjectsUnused
	// reports this. Not permitted with filters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Subjects []Subject `json:"subjects,omitempty"`

	// suspend stops reconciliation; the server keeps the last applied state. Deletion and expiry still take effect, and rotation
	// pauses.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// Subject is a person, or everyone in a group, as the identity provider names them.
//
// +kubebuilder:validation:XValidation:rule="has(self.user) != has(self.group)",message="set either user or group"
type Subject struct {
	// user is the name of a person: the exact value of the claim in --console-oidc-username-claim, by default the email address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	User string `json:"user,omitempty"`

	// group is the name of a group: an exact value in the claim in --console-oidc-groups-claim.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
}

// SecretKeyReference refers to a key of a Secret in the same namespace.
type SecretKeyReference struct {
	// name is the name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="name must be the name of a Secret: lowercase letters, digits, dashes and dots"
	Name string `json:"name"`

	// key is the key in the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// Rotation configures when the operator replaces a token value.
//
// +kubebuilder:validation:XValidation:rule="!self.overlap.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') || !self.every.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') || duration(self.overlap) < duration(self.every)",message="overlap must be shorter than every"
type Rotation struct {
	// every is the time between two rotations, at least 1m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1m')",message="every must be a duration of at least 1m, such as 720h"
	Every metav1.Duration `json:"every"`

	// overlap is how long a replaced value stays valid after a rotation.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('0s')",message="overlap must be a duration, such as 1h"
	Overlap metav1.Duration `json:"overlap"`
}

// AccessTokenStatus is the observed state of an AccessToken. It never holds a token value.
type AccessTokenStatus struct {
	// observedGeneration is the newest generation that the operator has processed, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// secretName is the name of the Secret that holds the value.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`

	// expiresAt is when the current value expires.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// lastRotation is when the current value was issued.
	// +optional
	LastRotation *metav1.Time `json:"lastRotation,omitempty"`

	// scope shows what limits the items that the token reads: Filters (spec.filters and, if there is one, a query), Query (spec.query),
	// Property (spec.readOnlyQuery of the Property), or AllItems (nothing).
	// +optional
	Scope TokenScope `json:"scope,omitempty"`

	// conditions: Ready, Reconciling, Stalled, QueryValid, Conflict, Suspended, Unrestricted, SubjectsUnused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AccessToken is a token for the HTTP API of one property. Deleting the object revokes the token within one second.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vtoken,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the server serves the newest spec or, while the object is suspended, the last applied spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition; Suspended while spec.suspend is true and an earlier generation is served"
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.spec.class`,description="Token class: ReadOnly or ReadWrite"
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.status.scope`,description="What limits the items that the token reads: Filters, Query, Property, or AllItems if nothing does"
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.status.secretName`,description="Secret that holds the value"
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.expiresAt`,description="When the current value expires"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciliation is suspended"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Message of the Ready condition: what the server serves, or what is wrong"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type AccessToken struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec AccessTokenSpec `json:"spec"`
	// status is the observed state.
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

// PropertyName returns the name of the Property in spec.propertyRef, "default" if it is not set.
func (o *AccessToken) PropertyName() string { return o.Spec.PropertyRef.NameOf() }

// PropertyNamespace returns the namespace of the Property in spec.propertyRef, that of the object if it is not set.
func (o *AccessToken) PropertyNamespace() string { return o.Spec.PropertyRef.NamespaceOf(o.Namespace) }

// Suspended returns spec.suspend.
func (o *AccessToken) Suspended() bool { return o.Spec.Suspend }

// StatusConditions returns a pointer to status.conditions.
func (o *AccessToken) StatusConditions() *[]metav1.Condition { return &o.Status.Conditions }

// StatusObservedGeneration returns a pointer to status.observedGeneration.
func (o *AccessToken) StatusObservedGeneration() *int64 { return &o.Status.ObservedGeneration }
