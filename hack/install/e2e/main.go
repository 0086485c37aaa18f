// Command e2e installs Vitrine into the cluster of KUBECONFIG and walks the product there: `make e2e`.
//
// It works in the namespaces vitrine-system, shop and elsewhere, which must not be there when it begins, and removes them
// with everything else at its end. Every step says what it showed; the first that fails ends the walk, with what the cluster
// has to say about it.
//
// The walk has three parts, so that whoever runs it can kill the node between the first two (-part install, after, helm).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/vitrine-dev/vitrine/hack/install/image"
)

// part is a stretch of the walk.
type part struct {
	name  string
	steps func(*world) []step
}

// step is one thing that is shown.
type step struct {
	shows string
	do    func(context.Context) error
}

var parts = []part{
	{"install", (*world).install},
	{"after", (*world).after},
	{"helm", (*world).helm},
}

func main() {
	// client-go logs that a forwarded connection has ended as an error, when the request that it was for is long answered.
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("e2e", flag.ContinueOnError)
	name := flags.String("image", "", "the image to install, which the cluster's nodes have or can pull")
	config := flags.String("config", "config", "the folder of the sources")
	items := flags.String("items", "", "NDJSON with items to import")
	only := flags.String("part", "", "walk only install, after or helm")
	timeout := flags.Duration("timeout", 15*time.Minute, "the time for all of it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	at, err := image.Parse(*name)
	if err != nil {
		return err
	}
	if *only != "" && !slices.ContainsFunc(parts, func(p part) bool { return p.name == *only }) {
		return fmt.Errorf("-part %q: want install, after or helm", *only)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, *timeout, fmt.Errorf("the walk took more than %s", *timeout))
	defer cancel()
	w, err := newWorld(at, *config, *items)
	if err != nil {
		return err
	}
	begin, shown := time.Now(), 0
	for _, p := range parts {
		if *only != "" && p.name != *only {
			continue
		}
		for _, s := range p.steps(w) {
			since := time.Now()
			if err := s.do(ctx); err != nil {
				if ctx.Err() != nil {
					err = errors.Join(context.Cause(ctx), err)
				}
				w.describe(os.Stderr)
				return fmt.Errorf("%s: %s: %w", p.name, s.shows, err)
			}
			shown++
			fmt.Printf("ok: %s (%s)\n", s.shows, time.Since(since).Round(100*time.Millisecond))
		}
	}
	fmt.Printf("e2e: %d steps shown in %s\n", shown, time.Since(begin).Round(time.Second))
	return nil
}
