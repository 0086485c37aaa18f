//go:build !unix

package segment

// mapFile reads a file on systems that cannot map it.
func mapFile(path string) ([]byte, func() error, error) { return readFile(path) }
