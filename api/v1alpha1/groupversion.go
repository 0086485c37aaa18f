package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of all five kinds.
var GroupVersion = schema.GroupVersion{Group: "vitrine.dev", Version: "v1alpha1"}

// The names of the five kinds.
const (
	PropertyKind      = "Property"
	AccessTokenKind   = "AccessToken"
	ContentFilterKind = "ContentFilter"
	TagKind           = "Tag"
	ActivateUnitKind  = "ActivateUnit"
)

// Kind is one of the kinds of the group, for code that treats all of them alike.
// +kubebuilder:object:generate=false
type Kind struct {
	// Name is the kind in a manifest, such as ContentFilter.
	Name string
	// New returns an empty object of the kind.
	New func() Object
	// NewList returns an empty list of such objects.
	NewList func() ObjectList
}

// Kinds is the registry of the kinds, in the order in which tools list them. Every other list of kinds derives from it.
func Kinds() []Kind {
	return []Kind{
		{PropertyKind, func() Object { return &Property{} }, func() ObjectList { return &PropertyList{} }},
		{AccessTokenKind, func() Object { return &AccessToken{} }, func() ObjectList { return &AccessTokenList{} }},
		{ContentFilterKind, func() Object { return &ContentFilter{} }, func() ObjectList { return &ContentFilterList{} }},
		{TagKind, func() Object { return &Tag{} }, func() ObjectList { return &TagList{} }},
		{ActivateUnitKind, func() Object { return &ActivateUnit{} }, func() ObjectList { return &ActivateUnitList{} }},
	}
}

// Resource returns the name of the kind in the paths of the API server, such as contentfilters.vitrine.dev.
func (k Kind) Resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(GroupVersion.WithKind(k.Name))
	return plural
}

// KindNamed returns the kind with a name; the zero Kind when the group has none.
func KindNamed(name string) Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return Kind{}
}

// NewObject returns an empty object of the named kind, nil when the group has no such kind.
func NewObject(name string) Object {
	if k := KindNamed(name); k.New != nil {
		return k.New()
	}
	return nil
}

// QueryOf returns the member of an object that holds its query, and the query; "" for an object without one.
func QueryOf(o Object) (member, text string) {
	var selector *Selector
	switch o := o.(type) {
	case *ContentFilter:
		return "spec.query", o.Spec.Query
	case *Tag:
		selector = o.Spec.Selector
	case *ActivateUnit:
		selector = o.Spec.Selector
	}
	if selector == nil {
		return "", ""
	}
	return "spec.selector.query", selector.Query
}

// AddToScheme adds the kinds and their lists to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, k := range Kinds() {
		scheme.AddKnownTypes(GroupVersion, k.New(), k.NewList())
	}
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
