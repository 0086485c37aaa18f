package v1alpha1

import (
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

// NewObject returns an empty object of a kind, nil for one that is none of the five.
func NewObject(kind string) Object {
	switch kind {
	case PropertyKind:
		return &Property{}
	case AccessTokenKind:
		return &AccessToken{}
	case ContentFilterKind:
		return &ContentFilter{}
	case TagKind:
		return &Tag{}
	case ActivateUnitKind:
		return &ActivateUnit{}
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

// AddToScheme adds the five kinds and their lists to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Property{}, &PropertyList{},
		&AccessToken{}, &AccessTokenList{},
		&ContentFilter{}, &ContentFilterList{},
		&Tag{}, &TagList{},
		&ActivateUnit{}, &ActivateUnitList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
