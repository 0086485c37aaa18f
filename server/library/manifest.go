package library

import "encoding/json"

// Manifest is the object that declares a definition, as an author would write it.
type Manifest struct {
	// Object is the object as JSON: its apiVersion, kind, name, namespace, labels, annotations and spec, without what other programs than the
	// author's add.
	Object json.RawMessage
	// Path is the path of the manifest's file in the Git repository, or "" if the object does not specify it.
	Path string
}
