//go:build !unix

package segment

// mapFile reads a file into memory, on systems that cannot map files.
func mapFile(path string) ([]byte, func() error, error) { return readFile(path) }
