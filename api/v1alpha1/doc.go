// Package v1alpha1 contains the six kinds of the API group vitrine.dev, which teams keep in Git. The comment of each member
// describes its meaning and its values. The markers above the types and members generate the schema, the CEL rules and the columns
// of the CRDs in config/crd. Optional members have their defaults in code and never in the schema, so that no client sees a change
// that its user did not make.
//
// It imports only apimachinery.
//
// +kubebuilder:object:generate=true
// +groupName=vitrine.dev
package v1alpha1
