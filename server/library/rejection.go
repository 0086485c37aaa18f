package library

// Rejection says why the newest version of an object is not served.
type Rejection struct {
	// Kind, Namespace and Name identify the object. For a file that cannot be read, Kind is "File" and Name is its path.
	Kind, Namespace, Name string
	// Reason is a fixed word that programs can evaluate, and Message is a text for users.
	Reason, Message string
}
