// Package tokens decides about the Secret of an AccessToken: whether the operator may use it, which value it holds, when a new
// value replaces it, and which keys the Secret needs. Its rules are small policies in ordered chains.
//
// It is pure except for the random values that it generates: the reconciler reads and writes the Secrets. It may import api, translate,
// verdict and the domain.
package tokens
