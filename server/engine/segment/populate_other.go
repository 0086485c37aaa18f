//go:build !linux

package segment

// populate does nothing: the kernel maps pages on first access.
func populate([]byte) {}
