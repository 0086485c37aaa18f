// Package v1alpha1 holds the five kinds of the group vitrine.dev: what teams write in Git. Each type says what its
// members mean and which values they take; the markers above them become the schema, the CEL rules and the columns of
// the CRDs in config/crd. Members that may be left out have their defaults in code, never in the schema, so that no
// client sees a change that its user did not make.
//
// It imports apimachinery and nothing else.
//
// +kubebuilder:object:generate=true
// +groupName=vitrine.dev
package v1alpha1
