package segment

import "golang.org/x/sys/unix"

// populate asks the kernel to map all pages of b. Kernels before 5.14 reject the request, and the pages are mapped on first access.
func populate(b []byte) { _ = unix.Madvise(b, unix.MADV_POPULATE_READ) }
