// Package tokens makes the decisions about the Secret of an AccessToken or a Webhook: whether the operator may use the Secret, which value
// it has, when a new value replaces that value, and which keys the Secret must have. Its rules are small policies in ordered chains.
//
// The package is pure except for the random values that it generates. The reconciler reads and writes the Secrets. This package may import
// api, translate, verdict and the domain.
package tokens
