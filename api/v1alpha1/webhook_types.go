package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WebhookEvent is a change of an item with regard to the listing that a Webhook follows.
// +kubebuilder:validation:Enum=Entered;Left;Changed
type WebhookEvent string

// The events of a Webhook.
const (
	// Entered means that an item is in the listing, and was not in it at the previous delivery.
	Entered WebhookEvent = "Entered"
	// Left means that an item is no longer in the listing.
	Left WebhookEvent = "Left"
	// Changed means that an item was in the listing, is still in it, and has changed.
	Changed WebhookEvent = "Changed"
)

// WebhookPayload is what a delivery contains of each item.
// +kubebuilder:validation:Enum=IDs;PublicItem
type WebhookPayload string

const (
	// PayloadIDs sends only the ids of items.
	PayloadIDs WebhookPayload = "IDs"
	// PayloadPublicItem also sends the public fields of the items that are in the listing.
	PayloadPublicItem WebhookPayload = "PublicItem"
)

// WebhookSpec configures which changes the server sends, and to which URL.
//
// +kubebuilder:validation:XValidation:rule="(has(self.propertyRef) ? self.propertyRef.name : 'default') == (has(oldSelf.propertyRef) ? oldSelf.propertyRef.name : 'default')",message="propertyRef cannot change: delete the object and create a new one"
// +kubebuilder:validation:XValidation:rule="!has(self.propertyRef) || !has(self.propertyRef.__namespace__)",message="a Webhook must be in the namespace of its Property: remove namespace from propertyRef"
// +kubebuilder:validation:XValidation:rule="has(self.filterRef) != has(self.query)",message="set either filterRef or query"
// +kubebuilder:validation:XValidation:rule="!(has(self.rotation) && has(self.existingSecret))",message="the operator does not rotate the value in existingSecret: remove rotation"
type WebhookSpec struct {
	// propertyRef names the Property that the object belongs to, in the same namespace. Defaults to "default". It cannot change: delete the
	// object and create a new one.
	// +optional
	PropertyRef *PropertyReference `json:"propertyRef,omitempty"`

	// url receives the deliveries, as POST requests. The scheme must be https. The server accepts http, and hosts with private addresses,
	// only if its flag --webhook-allow-host permits them. Everyone who can read the object can read the URL.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '' && !self.contains('@') && !self.contains('#') && (url(self).getPort() == '' || int(url(self).getPort()) >= 1 && int(url(self).getPort()) <= 65535)",message="url must be an absolute http or https URL without a user, an @ or a fragment, and with a port from 1 to 65535 if it has one"
	URL string `json:"url"`

	// filterRef selects the items of a ContentFilter. Set either filterRef or query.
	// +optional
	FilterRef *FilterReference `json:"filterRef,omitempty"`

	// query selects items, in the syntax of docs/query-language.md. It cannot use private fields. If the query does not parse, the object
	// stalls and the server keeps serving the last valid version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="the query must not be blank: use *:* to select every item"
	Query string `json:"query,omitempty"`

	// events are the changes to send: Entered, Left, Changed. By default, all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Events []WebhookEvent `json:"events,omitempty"`

	// payload is what a delivery contains of each item: IDs (the default), or PublicItem, which adds the public fields.
	// +optional
	Payload WebhookPayload `json:"payload,omitempty"`

	// batch configures how many changes a delivery contains.
	// +optional
	Batch *WebhookBatch `json:"batch,omitempty"`

	// existingSecret names a Secret that a user provides. Its value consists of one signing secret, or two separated by a space or a newline
	// while the first one replaces the second one: whsec_ and the standard Base64 encoding of 24 to 64 random bytes. The operator never
	// writes this Secret. By default, the operator generates a signing secret, and writes it to the Secret NAME-webhook.
	// +optional
	ExistingSecret *SecretKeyReference `json:"existingSecret,omitempty"`

	// rotation replaces the signing secret regularly. During the overlap, each delivery has a signature for both secrets. By default, the
	// operator never replaces the signing secret.
	// +optional
	Rotation *Rotation `json:"rotation,omitempty"`

	// suspend stops reconciliation. Deliveries continue as the last applied spec says, and rotation pauses.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// FilterReference refers to a ContentFilter in the same namespace.
type FilterReference struct {
	// name is the name of the ContentFilter. It need not exist yet.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// WebhookBatch limits the batches in which changes are sent.
type WebhookBatch struct {
	// maxItems is the maximum number of changes in a delivery. Defaults to 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxItems *int32 `json:"maxItems,omitempty"`

	// maxDelay is how long a change waits for further changes, so that one delivery contains them all: 0s to 1m. Defaults to 1s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1m')",message="maxDelay must be a duration between 0s and 1m, such as 5s"
	MaxDelay *metav1.Duration `json:"maxDelay,omitempty"`
}

// The annotations of a Webhook that request something. Each other value is a new request. The operator never writes them.
const (
	// TestAnnotation requests a test: one delivery without changes. Its value has at most 64 bytes.
	TestAnnotation = "vitrine.dev/test"
	// ReplaySinceAnnotation requests that the server sends the changes since a time again. Its value is the time in the format of RFC 3339.
	ReplaySinceAnnotation = "vitrine.dev/replay-since"
)

// WebhookTest is the outcome of a test.
type WebhookTest struct {
	// request is the value of the annotation vitrine.dev/test. It is absent if the value is too long.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Request string `json:"request,omitempty"`

	// time is when the test ended.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// problem describes why the test failed. It is absent if the receiver has accepted the test.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Problem string `json:"problem,omitempty"`
}

// WebhookReplay is a replay that has begun.
type WebhookReplay struct {
	// request is the value of the annotation vitrine.dev/replay-since. It is absent if the value is not valid.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Request string `json:"request,omitempty"`

	// time is when the replay began.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// from is the time since which the server sends all changes again. It is absent if the server no longer knows what it had sent at the
	// requested time: the receiver then gets a reset.
	// +optional
	From *metav1.Time `json:"from,omitempty"`

	// problem describes why the request is not valid.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Problem string `json:"problem,omitempty"`
}

// WebhookStatus is the observed state of a Webhook. It never holds a signing secret.
type WebhookStatus struct {
	// observedGeneration is the newest generation that the operator has processed, valid or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// secretName is the name of the Secret that holds the signing secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`

	// lastRotation is when the operator generated the current signing secret. It is absent for an existing Secret.
	// +optional
	LastRotation *metav1.Time `json:"lastRotation,omitempty"`

	// lastTest is the outcome of the newest test that the annotation vitrine.dev/test has requested.
	// +optional
	LastTest *WebhookTest `json:"lastTest,omitempty"`

	// lastReplay is the newest replay that the annotation vitrine.dev/replay-since has requested.
	// +optional
	LastReplay *WebhookReplay `json:"lastReplay,omitempty"`

	// conditions: Ready, Delivering, Reconciling, Stalled, QueryValid, Conflict, Suspended.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Webhook sends the changes of the items of a ContentFilter or a query to a URL. Deliveries are signed by the Standard Webhooks
// specification.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vhook,categories=vitrine
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the server serves the newest spec or, while the object is suspended, the last applied spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition; Suspended while spec.suspend is true and an earlier generation is served"
// +kubebuilder:printcolumn:name="Delivering",type=string,JSONPath=`.status.conditions[?(@.type=="Delivering")].status`,description="Whether deliveries succeed"
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.status.secretName`,description="Secret that holds the signing secret"
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.spec.url`,description="URL that receives the deliveries"
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`,description="Whether reconciliation is suspended"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Message of the Ready condition: what the server serves, or what is wrong"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created"
type Webhook struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec WebhookSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status WebhookStatus `json:"status,omitempty"`
}

// WebhookList is a list of Webhooks.
//
// +kubebuilder:object:root=true
type WebhookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Webhook `json:"items"`
}

// PropertyName returns the name of the Property in spec.propertyRef, "default" if it is not set.
func (o *Webhook) PropertyName() string { return o.Spec.PropertyRef.NameOf() }

// PropertyNamespace returns the namespace of the Property, which is that of the object.
func (o *Webhook) PropertyNamespace() string { return o.Namespace }

// Suspended returns spec.suspend.
func (o *Webhook) Suspended() bool { return o.Spec.Suspend }

// StatusConditions returns a pointer to status.conditions.
func (o *Webhook) StatusConditions() *[]metav1.Condition { return &o.Status.Conditions }

// StatusObservedGeneration returns a pointer to status.observedGeneration.
func (o *Webhook) StatusObservedGeneration() *int64 { return &o.Status.ObservedGeneration }
