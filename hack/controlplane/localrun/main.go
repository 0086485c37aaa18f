// Command localrun runs a complete installation on this machine until the command is interrupted: a control plane on loopback, the vitrine
// process, the sample manifests of config/samples and the sample content of hack/samplegen.
//
//	localrun [-state DIR] [-port N] [-webhook]
//
// The state is kept in DIR, and the next run continues with it. The content server listens on port N of the loopback interface, which by
// default is the port of the last run, 8443 or any free port. With -webhook, a webhook validates manifests when they are applied. `make
// run` starts this command. `make smoke` and `make gitops` run tests of this package, which use the same stack.
//
// If KUBECONFIG is set, localrun uses that cluster instead of its own control plane. It reads no other kubeconfig. Tilt and Skaffold were
// refused, because they need a cluster with nodes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

func main() {
	ctx, stop := untilInterrupted()
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\n%v\n", err)
		os.Exit(1)
	}
}

// untilInterrupted returns a context that ends when the user interrupts this process, or when the parent process ends.
func untilInterrupted() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx, cancel := process.WithParent(ctx)
	return ctx, func() { cancel(); stop() }
}

// run starts everything, prints instructions, and waits until ctx or one of the programs ends.
func run(ctx context.Context) error {
	root, err := assets.FindRoot()
	if err != nil {
		return err
	}
	opts := options{root: root, out: os.Stdout}
	flag.StringVar(&opts.state, "state", filepath.Join(root, ".vitrine"), "the directory for all state")
	flag.UintVar(&opts.port, "port", 0, "the port of the content server; 0 means the port of the last run, else 8443, else any free port")
	flag.BoolVar(&opts.webhook, "webhook", false, "validate manifests when they are applied")
	flag.Parse()
	if opts.state, err = filepath.Abs(opts.state); err != nil {
		return fmt.Errorf("resolve the state directory: %w", err)
	}
	s, err := bringUp(ctx, opts)
	if errors.Is(ctx.Err(), context.Canceled) {
		if err == nil {
			s.stop()
		}
		opts.say("\nstopped before everything was ready")
		return nil
	}
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.report(ctx); err != nil {
		return err
	}
	if err := s.Wait(ctx); err != nil {
		return err
	}
	opts.say("\nstopping…")
	return nil
}
