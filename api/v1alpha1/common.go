package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DefaultPropertyName is the Property that an object belongs to when it names none.
const DefaultPropertyName = "default"

// PropertyReference names a Property in the same namespace.
type PropertyReference struct {
	// name of the Property.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// NameOf returns the name of the Property that a reference stands for; nil stands for "default".
func (r *PropertyReference) NameOf() string {
	if r == nil {
		return DefaultPropertyName
	}
	return r.Name
}

// TagName names a tag.
type TagName struct {
	// namespace of the tag, such as marketer_tags.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// key of the tag.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Key string `json:"key"`
}

// Selector chooses items by a query, now and later.
type Selector struct {
	// query in the language of docs/query-language.md. Every item that matches is chosen, and every item that comes to
	// match later.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="the query must not be blank; *:* is everything"
	Query string `json:"query"`
}

// MissingItems tells which of the listed items the library does not hold.
type MissingItems struct {
	// count of listed items that are not in the library.
	Count int64 `json:"count"`

	// first names at most ten of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	First []int64 `json:"first,omitempty"`
}

// JSON is any JSON value, kept byte for byte.
// +kubebuilder:object:generate=true
type JSON struct {
	// Raw is the value's text; empty stands for null.
	Raw []byte `json:"-"`
}

// MarshalJSON returns the value as it was given.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j.Raw) == 0 {
		return []byte("null"), nil
	}
	return json.RawMessage(j.Raw).MarshalJSON()
}

// UnmarshalJSON keeps the value as it is given.
func (j *JSON) UnmarshalJSON(data []byte) error {
	j.Raw = append(j.Raw[:0:0], data...)
	return nil
}

// ObjectList is a list of objects of one kind.
// +kubebuilder:object:generate=false
type ObjectList interface {
	runtime.Object
	metav1.ListInterface
}

// Object is what the five kinds have in common, for code that treats them alike.
// +kubebuilder:object:generate=false
type Object interface {
	runtime.Object
	metav1.Object
	// PropertyName is the name of the Property, in the object's namespace, that the object belongs to or is.
	PropertyName() string
	// Suspended reports whether reconciling is frozen.
	Suspended() bool
	// StatusConditions returns the conditions, to be read and set in place.
	StatusConditions() *[]metav1.Condition
	// StatusObservedGeneration returns the newest generation that was judged, to be read and set in place.
	StatusObservedGeneration() *int64
}
