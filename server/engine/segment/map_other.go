//go:build !unix

package segment

// mapFile reads a file, where files cannot be mapped.
func mapFile(path string) ([]byte, func() error, error) { return readFile(path) }
