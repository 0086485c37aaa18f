// Package loopback finds addresses on this machine for the programs that hack starts. It imports only the standard library.
package loopback

import (
	"fmt"
	"net"
)

// Free returns n different addresses on the loopback interface that nothing listens on.
func Free(n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // an address, without names to resolve
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() // not before all are found, or one could be found twice
		out[i] = l.Addr().String()
	}
	return out, nil
}
