//go:build !unix

package segment

// mapFile reads a file into memory, on systems that cannot map files.
func mapFile(path string) ([]byte, func() error, error) { return readFile(path) }

// readSingly and prefetch do nothing, because the file is in memory.
func readSingly([]byte, bool) {}
func prefetch([]byte)         {}
