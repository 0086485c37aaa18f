package v1alpha1

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DefaultPropertyName is the name of the Property of an object without spec.propertyRef.
const DefaultPropertyName = "default"

// SourcePathAnnotation contains the path of the file that declares the object, in the repository of spec.source of the Property.
const SourcePathAnnotation = "vitrine.dev/source-path"

// sourcePath matches the paths of YAML and JSON files that need no escapes in a URL, as spec.source.path.
var sourcePath = regexp.MustCompile(`^[A-Za-z0-9._/-]+[.](yaml|yml|json)$`)

// maxSourcePath is the maximum length of a path.
const maxSourcePath = 1024

// SourcePath returns the path in SourcePathAnnotation, or "" if there is none.
func SourcePath(annotations map[string]string) (string, error) {
	path, ok := annotations[SourcePathAnnotation]
	if ok && (len(path) > maxSourcePath || !fs.ValidPath(path) || !sourcePath.MatchString(path)) {
		return "", fmt.Errorf("the annotation %s must be the path of a YAML or JSON file in the repository, such as content/shop/summer.yaml, "+
			"made of letters, digits and ._-/, with at most %d characters: the console ignores it", SourcePathAnnotation, maxSourcePath)
	}
	return path, nil
}

// PropertyReference refers to a Property.
type PropertyReference struct {
	// name is the name of the Property.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace is the namespace of the Property. Defaults to the namespace of the object. A Property in another namespace must permit the
	// object in its spec.allowFrom.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
}

// NameOf returns the name of the referenced Property, or "default" if r is nil.
func (r *PropertyReference) NameOf() string {
	if r == nil {
		return DefaultPropertyName
	}
	return r.Name
}

// NamespaceOf returns the namespace of the Property that an object in the namespace own refers to. r may be nil.
func (r *PropertyReference) NamespaceOf(own string) string {
	if r == nil || r.Namespace == "" {
		return own
	}
	return r.Namespace
}

// TagName identifies a tag.
type TagName struct {
	// namespace is the namespace of the tag, such as marketer_tags.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// key is the key of the tag.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Key string `json:"key"`
}

// Selector selects the items that match a query, including those that arrive later.
type Selector struct {
	// query selects the items, in the syntax of docs/query-language.md.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="the query must not be blank: use *:* to select every item"
	Query string `json:"query"`
}

// MissingItems reports listed items that are not in the library.
type MissingItems struct {
	// count is the number of listed items that are not in the library.
	Count int64 `json:"count"`

	// first lists the ids of up to ten of these items.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	First []int64 `json:"first,omitempty"`
}

// JSON is any JSON value. Its bytes are kept unchanged.
// +kubebuilder:object:generate=true
type JSON struct {
	// Raw is the text of the value; empty means null.
	Raw []byte `json:"-"`
}

// MarshalJSON returns Raw, or null if it is empty.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j.Raw) == 0 {
		return []byte("null"), nil
	}
	return json.RawMessage(j.Raw).MarshalJSON()
}

// UnmarshalJSON copies data into Raw.
func (j *JSON) UnmarshalJSON(data []byte) error {
	j.Raw = append(j.Raw[:0:0], data...)
	return nil
}

// Guest reports whether an object is in another namespace than the Property that it refers to.
func Guest(o Object) bool { return o.PropertyNamespace() != o.GetNamespace() }

// ObjectList is a list of objects of one kind.
// +kubebuilder:object:generate=false
type ObjectList interface {
	runtime.Object
	metav1.ListInterface
}

// Object is the interface that all kinds implement.
// +kubebuilder:object:generate=false
type Object interface {
	runtime.Object
	metav1.Object
	// PropertyName returns the name of the Property that the object belongs to. A Property returns its own name.
	PropertyName() string
	// PropertyNamespace returns the namespace of that Property.
	PropertyNamespace() string
	// Suspended returns spec.suspend.
	Suspended() bool
	// StatusConditions returns a pointer to status.conditions.
	StatusConditions() *[]metav1.Condition
	// StatusObservedGeneration returns a pointer to status.observedGeneration.
	StatusObservedGeneration() *int64
}
