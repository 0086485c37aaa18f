package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of all kinds.
var GroupVersion = schema.GroupVersion{Group: "vitrine.dev", Version: "v1alpha1"}

// Names of the kinds.
const (
	PropertyKind      = "Property"
	AccessTokenKind   = "AccessToken"
	ContentFilterKind = "ContentFilter"
	TagKind           = "Tag"
	ActivateUnitKind  = "ActivateUnit"
	WebhookKind       = "Webhook"
)

// Kind is one of the kinds of the group. It is for code that handles all of them in the same way.
// +kubebuilder:object:generate=false
type Kind struct {
	// Name is the kind in a manifest, such as ContentFilter.
	Name string
	// New returns an empty object of the kind.
	New func() Object
	// NewList returns an empty list of such objects.
	NewList func() ObjectList
}

// Kinds returns the registry of the kinds, in the order in which tools list them. Every other list of kinds derives from it.
func Kinds() []Kind {
	return []Kind{
		{PropertyKind, func() Object { return &Property{} }, func() ObjectList { return &PropertyList{} }},
		{AccessTokenKind, func() Object { return &AccessToken{} }, func() ObjectList { return &AccessTokenList{} }},
		{ContentFilterKind, func() Object { return &ContentFilter{} }, func() ObjectList { return &ContentFilterList{} }},
		{TagKind, func() Object { return &Tag{} }, func() ObjectList { return &TagList{} }},
		{ActivateUnitKind, func() Object { return &ActivateUnit{} }, func() ObjectList { return &ActivateUnitList{} }},
		{WebhookKind, func() Object { return &Webhook{} }, func() ObjectList { return &WebhookList{} }},
	}
}

// Resource returns the resource of the kind in the paths of the API server, such as contentfilters.
func (k Kind) Resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(GroupVersion.WithKind(k.Name))
	return plural
}

// KindNamed returns the kind with a name, or the zero Kind if the group has none.
func KindNamed(name string) Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return Kind{}
}

// NewObject returns an empty object of the named kind, or nil if the group has no such kind.
func NewObject(name string) Object {
	if k := KindNamed(name); k.New != nil {
		return k.New()
	}
	return nil
}

// QueryOf returns the path of the member that contains the query of an object, and the query. Both are "" if the object has no query.
func QueryOf(o Object) (member, text string) {
	var selector *Selector
	switch o := o.(type) {
	case *Property:
		if o.Spec.ReadOnlyQuery != "" {
			return "spec.readOnlyQuery", o.Spec.ReadOnlyQuery
		}
	case *AccessToken:
		if o.Spec.Query != "" {
			return "spec.query", o.Spec.Query
		}
	case *Webhook:
		if o.Spec.Query != "" {
			return "spec.query", o.Spec.Query
		}
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
