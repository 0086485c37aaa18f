// Package loopback finds free loopback addresses for the programs that the tools in hack start. It imports only the standard library.
package loopback

import (
	"fmt"
	"net"
)

// Free returns n different loopback addresses on which no program listens.
func Free(n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // the address contains no name to resolve
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() // close the listeners only when all addresses are found, so that no address is found twice
		out[i] = l.Addr().String()
	}
	return out, nil
}
