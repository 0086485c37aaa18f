// Package node starts real OpenSearch nodes for tests and development, from jars of Maven Central whose checksums are
// recorded here. It needs a JDK and nothing else; the jars and the compiled launcher are kept in the user's cache directory.
//
// It may import the standard library and golang.org/x/sync alone.
package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Versions of OpenSearch that Start knows, and the oldest JDK for each.
const (
	// Version3 is the default.
	Version3 = "3.8.0"
	// Version2 is the last of OpenSearch 2.
	Version2 = "2.19.6"
)

// AbsentError says that no node can be started here, and why.
type AbsentError struct{ Reason string }

// Error says why no node can be started.
func (e *AbsentError) Error() string { return "OpenSearch cannot be started: " + e.Reason }

// Options say what to start.
type Options struct {
	// Dir holds the node's data, configuration and logs. Required.
	Dir string
	// Version is Version3 when empty.
	Version string
	// Heap is the size of the Java heap as java takes it; "" means 768m.
	Heap string
	// Port is that of HTTP on 127.0.0.1; 0 means a free one.
	Port int
	// Settings are passed to the node, each as name=value.
	Settings []string
	// Log takes what the node writes; nil discards it.
	Log io.Writer
}

// Node is a node that runs. Stop ends it; it also ends with this process.
type Node struct {
	// URL is the address of its HTTP interface.
	URL string

	process *exec.Cmd
	input   io.Closer
	done    chan error
}

// startTimeout is how long a node may take to answer on a busy machine.
const startTimeout = 5 * time.Minute

// Start starts a node and returns once it answers. It fails with *AbsentError where there is no JDK or the jars cannot be
// had.
func Start(ctx context.Context, o Options) (*Node, error) {
	if o.Version == "" {
		o.Version = Version3
	}
	if o.Heap == "" {
		o.Heap = "768m"
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	l, err := provide(ctx, o.Version)
	if err != nil {
		return nil, err
	}
	if o.Port == 0 {
		if o.Port, err = freePort(ctx); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory of the node: %w", err)
	}
	temp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the node: %w", err)
	}
	args := append(l.arguments(o.Heap, temp), "Main", dir, strconv.Itoa(o.Port))
	n := &Node{process: exec.CommandContext(context.WithoutCancel(ctx), l.java, append(args, o.Settings...)...), done: make(chan error, 1)}
	n.process.Stderr = o.Log
	if n.input, err = n.process.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start OpenSearch: %w", err)
	}
	output, err := n.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start OpenSearch: %w", err)
	}
	if err := n.process.Start(); err != nil {
		return nil, fmt.Errorf("start OpenSearch: %w", err)
	}
	ready := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
				ready <- strings.Fields(rest)[0]
			}
		}
		n.done <- n.process.Wait()
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case n.URL = <-ready:
		return n, nil
	case err := <-n.done:
		return nil, fmt.Errorf("start OpenSearch: it ended: %w", errors.Join(err, errors.New("see its log")))
	case <-ctx.Done():
		return nil, fmt.Errorf("start OpenSearch: %w", errors.Join(ctx.Err(), n.process.Process.Kill()))
	}
}

// Stop closes the node, and kills it when that takes longer than the context allows.
func (n *Node) Stop(ctx context.Context) error {
	if err := n.input.Close(); err != nil {
		return fmt.Errorf("stop OpenSearch: %w", err)
	}
	select {
	case err := <-n.done:
		if err != nil {
			return fmt.Errorf("stop OpenSearch: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop OpenSearch: %w", errors.Join(ctx.Err(), n.process.Process.Kill()))
	}
}

// freePort returns a port without a listener.
func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
