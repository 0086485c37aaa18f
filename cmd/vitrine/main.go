// Command vitrine is the content library: the server and operator, and the commands that speak to it.
//
// It is the only place where the parts are put together. Each subcommand is a file named after it; serve is spread over
// process.go (what runs, in which order it starts and stops), admin.go (the operations on a running server), listen.go,
// probes.go, metrics.go, logging.go, webhook.go and kubernetes.go; status, items, explain and tokens share cluster.go, reach.go and
// output.go. What is more than a command is in internal. Called kubectl-vitrine, the same binary is a plugin of kubectl.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(run(interruptible(context.Background()), os.Args[0], os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// interruptible returns a context that ends with the first SIGINT or SIGTERM. The second one ends the process at once.
func interruptible(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitInterrupted)
	}()
	return ctx
}
