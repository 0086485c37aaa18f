// Package verdict judges objects. It determines the meaning of a spec, the reason for a refusal, and the conditions that report the result.
// The reconcilers, the webhook and `vitrine validate` use this package, so that all three give the same verdict with the same message.
//
// The package is pure: it has no client and no clock, and does no I/O. This package may import api, translate and the domain.
package verdict
