package subject

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// freePorts finds addresses on loopback that nobody listens on.
func freePorts(ctx context.Context, n int) (addresses []string, err error) {
	var config net.ListenConfig
	for range n {
		l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a port: %w", err)
		}
		// All are held until the last is found, so that none comes twice.
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// freePort finds a port that is free together with the one a hundred above it.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	for range 100 {
		l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("find a port: %w", err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		above, err := config.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port+100))
		if err == nil {
			err = above.Close()
		}
		if err := errors.Join(err, l.Close()); err == nil {
			return port, nil
		}
	}
	return 0, errors.New("find a port: none of a hundred was free with the one a hundred above it")
}
