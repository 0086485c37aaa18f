package v1alpha1

// Condition types. Ready, Reconciling and Stalled follow kstatus, so that Flux, Argo CD and kubectl wait read the health
// of every kind without configuration; Reconciling and Stalled are there only while they are true.
const (
	// ReadyCondition is True when the server serves the newest spec or, while spec.suspend is true, the generation that the
	// condition observed.
	ReadyCondition = "Ready"
	// ReconcilingCondition is True while the operator waits for something that is expected to appear.
	ReconcilingCondition = "Reconciling"
	// StalledCondition is True when the operator makes no progress until a user changes an object.
	StalledCondition = "Stalled"
	// QueryValidCondition says whether the query or the selector can be used; Unknown while spec.suspend is true.
	QueryValidCondition = "QueryValid"
	// ConflictCondition is True while another object holds what this one claims.
	ConflictCondition = "Conflict"
	// SuspendedCondition is True while spec.suspend stops reconciliation; the server keeps serving the last applied state.
	SuspendedCondition = "Suspended"
)

// Condition reasons. docs/kinds.md has the cause and the cure of each.
const (
	// ReasonServed: the newest spec is served.
	ReasonServed = "Served"
	// ReasonPropertyNotFound: the Property that the object names is not there, or not Ready, yet.
	ReasonPropertyNotFound = "PropertyNotFound"
	// ReasonInvalidQuery: the query or the selector does not parse, or names what it may not.
	ReasonInvalidQuery = "InvalidQuery"
	// ReasonInvalidSort: the sort string does not parse, or names a field that cannot be sorted on.
	ReasonInvalidSort = "InvalidSort"
	// ReasonInvalidSpec: a value passed the schema but cannot be used.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonValid: the query can be used.
	ReasonValid = "Valid"
	// ReasonValidWithWarnings: the query can be used, and there is advice on it.
	ReasonValidWithWarnings = "ValidWithWarnings"
	// ReasonClaimHeld: an older object holds what this one claims.
	ReasonClaimHeld = "ClaimHeld"
	// ReasonIDTaken: the id derived for the object is in use by something else in the store.
	ReasonIDTaken = "IDTaken"
	// ReasonAdoptedFilterNotFound: there is no HTTP-made filter with the id in spec.adopt.
	ReasonAdoptedFilterNotFound = "AdoptedFilterNotFound"
	// ReasonSecretNotFound: the Secret in spec.existingSecret, or its key, is not there yet.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonSecretInvalid: the value in spec.existingSecret is not 32 to 4,096 printable characters.
	ReasonSecretInvalid = "SecretInvalid"
	// ReasonSecretConflict: a Secret of that name is there and does not belong to the AccessToken, or the operator of another
	// store writes it.
	ReasonSecretConflict = "SecretConflict"
	// ReasonExpired: the token's value has expired and is refused.
	ReasonExpired = "Expired"
	// ReasonSuspended: spec.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonRetrying: the API server or the store could not be reached or written; the operator retries.
	ReasonRetrying = "Retrying"
)
