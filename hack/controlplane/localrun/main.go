// Command localrun runs the whole product on this machine: a control plane on loopback, the vitrine process, the sample
// manifests of config/samples and the sample content of hack/samplegen.
//
//	localrun run [-state DIR] [-webhook]
//	                             until interrupted; the state stays, and the next run goes on with it; -webhook has manifests
//	                             judged while they are applied
//	localrun smoke               the same on fresh state, without a terminal: checks each printed line, walks the tour of
//	                             README, starts once more on the same data, stops everything
//	localrun gitops [-built-only]
//	                             the manifests of docs/gitops.md through real Flux and Argo CD, on fresh state and a control plane of
//	                             its own; -built-only does nothing, and says so, where the two are not built yet
//
// It is what `make run`, `make smoke` and `make gitops` start. KUBECONFIG, when it is set, names the cluster to use instead of a control
// plane of its own; no other kubeconfig is ever read.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := process.WithParent(ctx)
	defer cancel()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "\n%v\n", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	root, err := assets.FindRoot()
	if err != nil {
		return err
	}
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("localrun "+name, flag.ContinueOnError)
	state := flags.String("state", filepath.Join(root, ".vitrine"), "the directory that keeps everything")
	webhook := flags.Bool("webhook", false, "judge manifests while they are applied")
	builtOnly := flags.Bool("built-only", false, "build neither Flux nor Argo CD")
	switch name {
	case "gitops":
		if err := flags.Parse(args); err != nil {
			return err
		}
		return gitops(ctx, root, *builtOnly, out)
	case "run":
		if err := flags.Parse(args); err != nil {
			return err
		}
		dir, err := filepath.Abs(*state)
		if err != nil {
			return fmt.Errorf("resolve the state directory: %w", err)
		}
		return run(ctx, options{root: root, state: dir, webhook: *webhook, out: out})
	case "smoke":
		return smoke(ctx, root, out)
	}
	return errors.New("usage: localrun run [-state DIR] [-webhook] | localrun smoke | localrun gitops [-built-only]")
}

// run brings everything up, says how to use it and stays until it is interrupted.
func run(ctx context.Context, opts options) error {
	s, err := bringUp(ctx, opts)
	if err != nil {
		if interrupted(ctx) {
			fmt.Fprintln(opts.out, "\nstopped before it was up")
			return nil
		}
		return err
	}
	defer s.stop()
	if err := s.report(ctx); err != nil {
		return err
	}
	if err := s.Wait(ctx); err != nil {
		return err
	}
	fmt.Fprintln(opts.out, "\nstopping…")
	return nil
}

// interrupted reports whether the user, or the end of the parent, has ended the context.
func interrupted(ctx context.Context) bool {
	return errors.Is(ctx.Err(), context.Canceled)
}
