package v1alpha1

// Condition types. Ready, Reconciling and Stalled follow kstatus, so that Flux, Argo CD and kubectl wait read the health of every
// kind without configuration. Reconciling and Stalled are present only while they are True.
const (
	// ReadyCondition is True when the server serves the newest spec or, while spec.suspend is true, the generation that the
	// condition observed.
	ReadyCondition = "Ready"
	// ReconcilingCondition is True while the operator waits for something that is expected to appear, or retries after an error.
	ReconcilingCondition = "Reconciling"
	// StalledCondition is True when the operator makes no progress until a user changes an object.
	StalledCondition = "Stalled"
	// QueryValidCondition reports whether the query or the selector can be used. It is Unknown while spec.suspend is true.
	QueryValidCondition = "QueryValid"
	// ConflictCondition is True while another object holds what this one claims.
	ConflictCondition = "Conflict"
	// SuspendedCondition is True while spec.suspend stops reconciliation. The server keeps serving the last applied state.
	SuspendedCondition = "Suspended"
	// UnrestrictedCondition is True while a ReadOnly token reads all items of its Property.
	UnrestrictedCondition = "Unrestricted"
	// SubjectsUnusedCondition is True while spec.subjects of a token has no effect.
	SubjectsUnusedCondition = "SubjectsUnused"
	// DeliveringCondition of a Webhook is True while no delivery has failed since the last one that succeeded.
	DeliveringCondition = "Delivering"
)

// Condition reasons. docs/kinds.md lists the cause and the cure of each.
const (
	// ReasonServed: the newest spec is served.
	ReasonServed = "Served"
	// ReasonPropertyNotFound: the Property in spec.propertyRef does not exist yet, or is not Ready.
	ReasonPropertyNotFound = "PropertyNotFound"
	// ReasonNotServed: the operator accepted the spec of the Property, but the server cannot serve the items of the Property.
	ReasonNotServed = "NotServed"
	// ReasonInvalidQuery: the query or the selector does not parse, or uses a field that is not allowed in it.
	ReasonInvalidQuery = "InvalidQuery"
	// ReasonInvalidSort: the sort string does not parse, or names a field that cannot be sorted by.
	ReasonInvalidSort = "InvalidSort"
	// ReasonInvalidSpec: a value passed the schema but cannot be used.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonValid: the query can be used.
	ReasonValid = "Valid"
	// ReasonValidWithWarnings: the query can be used, but it has warnings.
	ReasonValidWithWarnings = "ValidWithWarnings"
	// ReasonClaimHeld: another object holds what this one claims.
	ReasonClaimHeld = "ClaimHeld"
	// ReasonIDTaken: something else in the store uses the id derived for the object.
	ReasonIDTaken = "IDTaken"
	// ReasonAdoptedFilterNotFound: the property has no filter that was created over HTTP with the id in spec.adopt.
	ReasonAdoptedFilterNotFound = "AdoptedFilterNotFound"
	// ReasonSecretNotFound: the Secret in spec.existingSecret, or its key, does not exist yet.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonSecretInvalid: the value in spec.existingSecret cannot be used: a token is 32 to 4,096 printable ASCII characters without spaces,
	// and a signing secret is whsec_ and Base64.
	ReasonSecretInvalid = "SecretInvalid"
	// ReasonSecretConflict: a Secret with the name of the object's Secret exists and does not belong to the object, or the operator of
	// another store writes it.
	ReasonSecretConflict = "SecretConflict"
	// ReasonExpired: the token's value has expired.
	ReasonExpired = "Expired"
	// ReasonAllItems: neither the token nor its Property limits the items that the token reads.
	ReasonAllItems = "AllItems"
	// ReasonNoIdentityProvider: the server has no identity provider, through which the subjects could log in.
	ReasonNoIdentityProvider = "NoIdentityProvider"
	// ReasonDelivering: the last delivery of the Webhook succeeded, or there was none yet.
	ReasonDelivering = "Delivering"
	// ReasonDeliveryFailed: the receiver of a Webhook cannot be reached, or responds with an error. The server retries.
	ReasonDeliveryFailed = "DeliveryFailed"
	// ReasonDeliveryStopped: the receiver of a Webhook responded with 410.
	ReasonDeliveryStopped = "DeliveryStopped"
	// ReasonAddressRefused: the URL of a Webhook has an address or a scheme that the server does not permit.
	ReasonAddressRefused = "AddressRefused"
	// ReasonFilterNotFound: the ContentFilter of a Webhook does not exist yet.
	ReasonFilterNotFound = "FilterNotFound"
	// ReasonSuspended: spec.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonRetrying: an operation on the API server or on the store failed, and the operator retries.
	ReasonRetrying = "Retrying"
)
