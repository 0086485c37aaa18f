// Package node starts real OpenSearch nodes for tests and development. It downloads jars from Maven Central and verifies them with
// recorded checksums. It needs only a JDK. It keeps the jars and the compiled launcher in the user's cache directory. testcontainers was
// refused, because it needs a container engine.
//
// It may import only the standard library, golang.org/x/sync and hack/loopback.
package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/loopback"
)

// Versions of OpenSearch that Start supports.
const (
	// Version3 is the default.
	Version3 = "3.8.0"
	// Version2 is the newest release of OpenSearch 2.
	Version2 = "2.19.6"
)

// AbsentError means that no node can be started on this machine.
type AbsentError struct{ Reason string }

// Error returns the reason.
func (e *AbsentError) Error() string { return "OpenSearch cannot be started: " + e.Reason }

// Options configure a node.
type Options struct {
	// Dir is the directory for the node's data, configuration and logs. Required.
	Dir string
	// Version is the version of OpenSearch; "" means Version3.
	Version string
	// Heap is the size of the Java heap in the syntax of java; "" means 768m.
	Heap string
	// Port is the HTTP port on 127.0.0.1; 0 means a free port.
	Port int
	// Settings are additional settings of the node, each in the form name=value.
	Settings []string
	// Security starts the node with the security plugin, which requires Version2. The node uses TLS with a certificate from the authority
	// in Node.CAFile. The user Administrator has all permissions.
	Security bool
	// Log receives the node's output; nil discards it.
	Log io.Writer
}

// Node is a running node. It runs until Stop is called or this process ends.
type Node struct {
	// URL is the address of the HTTP interface.
	URL string
	// CAFile contains the CA certificate of a node with security.
	CAFile string

	process *exec.Cmd
	input   io.Closer
	done    chan error
}

// startTimeout limits the time until a node is ready. It is much longer than a start takes on an idle machine.
const startTimeout = 5 * time.Minute

// Start starts a node and returns when it is ready. It fails with *AbsentError if there is no JDK or the jars are not available.
func Start(ctx context.Context, o Options) (*Node, error) {
	if o.Version == "" {
		o.Version = Version3
	}
	if o.Security && o.Version != Version2 {
		return nil, &AbsentError{"the security plugin is available only for OpenSearch " + Version2}
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
	port := strconv.Itoa(o.Port)
	if o.Port == 0 {
		free, err := loopback.Free(1)
		if err != nil {
			return nil, err
		}
		port = strings.TrimPrefix(free[0], "127.0.0.1:")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory of the node: %w", err)
	}
	temp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the node: %w", err)
	}
	scheme := "http"
	if o.Security {
		scheme = "https"
		security, err := l.secure(ctx, dir)
		if err != nil {
			return nil, err
		}
		o.Settings = append(security, o.Settings...)
	}
	args := append(l.arguments(o.Heap, temp), "Main", dir, port)
	n := &Node{process: exec.CommandContext(context.WithoutCancel(ctx), l.java, append(args, o.Settings...)...), done: make(chan error, 1)}
	n.process.Stderr = o.Log
	url, err := n.start(ctx)
	if err != nil {
		return nil, fmt.Errorf("start OpenSearch: %w", err)
	}
	n.URL = strings.Replace(url, "http", scheme, 1)
	if o.Security {
		n.CAFile = caFile(dir)
	}
	return n, nil
}

// start starts the process, and returns the URL that the process prints when the node is ready.
func (n *Node) start(ctx context.Context) (url string, err error) {
	if n.input, err = n.process.StdinPipe(); err != nil {
		return "", err
	}
	output, err := n.process.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := n.process.Start(); err != nil {
		return "", err
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
	case url := <-ready:
		return url, nil
	case err := <-n.done:
		return "", fmt.Errorf("the process ended: %w", errors.Join(err, errors.New("see the log of the process")))
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), n.process.Process.Kill())
	}
}

// PID returns the process ID of the node.
func (n *Node) PID() int { return n.process.Process.Pid }

// Kill ends the node immediately, as a power failure would.
func (n *Node) Kill() error {
	if err := n.process.Process.Kill(); err != nil {
		return fmt.Errorf("kill OpenSearch: %w", err)
	}
	if err := <-n.done; err == nil {
		return errors.New("kill OpenSearch: the process had already ended")
	}
	return nil
}

// Stop stops the node, and kills it if ctx ends first.
func (n *Node) Stop(ctx context.Context) error {
	if err := n.input.Close(); err != nil && !errors.Is(err, os.ErrClosed) { // the input is already closed if the node has ended
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
