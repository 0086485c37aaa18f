// Package controllers makes a library match the manifests of a cluster. Each kind has one reconciler, and all reconcilers have the same
// shape: a pass over an object translates it into a definition, applies the definition, and reports the result in the status. Everything
// that is specific to one kind is in the file of that kind. kinds.go lists the kinds.
//
//	cluster ──▶ controllers ──▶ tokens ──▶ verdict ──▶ translate
//	                    └─────▶ counts
//
// Invariants: the controllers never write a spec, and write a status only when its meaning changed. Objects have no finalizers. When the
// watch reports the deletion of an object, its controller removes the definition that the object declared. Statuses, events and log lines
// contain no secrets. The package does not depend on HTTP or on storage.
//
// This package may import api, counts, tokens, translate, verdict, internal/text and the domain.
package controllers
