// Package ports chooses ports on loopback for the programs of a local run, and remembers them, so that a line pasted
// from one run works in the next.
package ports

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Choose returns a free port for every name: the one that file remembers, else the preferred one (0: none), else any.
// What it chose is written to file. A port is free when it is chosen, and could be taken a moment later.
func Choose(ctx context.Context, file string, preferred map[string]int) (map[string]int, error) {
	remembered := map[string]int{}
	if text, err := os.ReadFile(file); err == nil {
		// What cannot be read is as good as nothing remembered.
		_ = json.Unmarshal(text, &remembered)
	}
	chosen := make(map[string]int, len(preferred))
	for name, prefers := range preferred {
		held, err := listen(ctx, remembered[name], prefers)
		if err != nil {
			return nil, fmt.Errorf("find a free port for %s: %w", name, err)
		}
		// Held until all are chosen, or one port would be handed out twice.
		defer held.Close()
		chosen[name] = held.Addr().(*net.TCPAddr).Port
	}
	text, err := json.Marshal(chosen)
	if err != nil {
		return nil, fmt.Errorf("encode the ports: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("remember the ports: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("remember the ports: %w", err)
	}
	return chosen, nil
}

// listen listens on the first of the wanted ports that is free, or on any.
func listen(ctx context.Context, wanted ...int) (net.Listener, error) {
	var config net.ListenConfig
	for _, port := range wanted {
		if port == 0 {
			continue
		}
		if l, err := config.Listen(ctx, "tcp", Address(port)); err == nil {
			return l, nil
		}
	}
	return config.Listen(ctx, "tcp", Address(0))
}

// Address is host:port of a port on loopback.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// URL is the https address of a port on loopback.
func URL(port int) string { return "https://" + Address(port) }
