// Package verdict decides the outcome for an object: what its spec means, why it is refused, and which conditions report that. The
// reconcilers, the webhook and `vitrine validate` share it, so that all three give the same verdict with the same message.
//
// It is pure: no client, no clock, no I/O. It may import api, translate and the domain.
package verdict
