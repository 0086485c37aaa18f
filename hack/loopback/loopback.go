// Package loopback finds addresses on this machine for the programs that hack starts. It imports only the standard library.
package loopback

import (
	"fmt"
	"net"
)

// Free returns n different loopback addresses without a listener.
func Free(n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // an address, without names to resolve
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() // closed only after all are found, so that none is found twice
		out[i] = l.Addr().String()
	}
	return out, nil
}
