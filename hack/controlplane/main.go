// Command controlplane provides a real Kubernetes API server on loopback, built from Go modules.
//
//	go -C hack/controlplane run . assets      print a directory with etcd, kube-apiserver and kubectl (see KUBEBUILDER_ASSETS)
//	go -C hack/controlplane run . up DIR      run etcd and kube-apiserver, with their state in DIR, until interrupted
//
// The versions are those of tools/kubernetes/go.mod. The programs are built once and kept in the user's cache; VITRINE_CACHE chooses
// another place, and a KUBEBUILDER_ASSETS that is set already is used as it is.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/plane"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

const usage = `usage: controlplane assets
       controlplane up DIR
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := process.WithParent(ctx)
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
}

// run executes one command. Results go to stdout, progress to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	progress := func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	switch {
	case len(args) == 1 && args[0] == "assets":
		dir, err := ensure(ctx, progress)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, dir)
		return nil
	case len(args) == 2 && args[0] == "up":
		return up(ctx, args[1], progress, stdout)
	}
	fmt.Fprint(stderr, usage)
	return errors.New("unknown command; see the usage above")
}

func ensure(ctx context.Context, progress func(string, ...any)) (string, error) {
	root, err := assets.FindRoot()
	if err != nil {
		return "", err
	}
	return assets.Ensure(ctx, assets.Options{Root: root, Progress: progress})
}

// up runs a control plane until ctx ends, or one of its programs does.
func up(ctx context.Context, state string, progress func(string, ...any), stdout io.Writer) error {
	bin, err := ensure(ctx, progress)
	if err != nil {
		return err
	}
	state, err = filepath.Abs(state)
	if err != nil {
		return fmt.Errorf("resolve the state directory: %w", err)
	}
	cp, err := plane.Start(ctx, plane.Options{Dir: state, Assets: bin})
	if err != nil {
		return err
	}
	defer cp.Stop()
	fmt.Fprintf(stdout, "export KUBECONFIG=%s\n", cp.Kubeconfig)
	progress("kube-apiserver answers on %s; Ctrl-C stops it, %s keeps its state", cp.URL, state)
	select {
	case <-ctx.Done():
		return nil
	case <-cp.Failed():
		return cp.Err()
	}
}
