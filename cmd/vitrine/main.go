// Command vitrine contains the server, the operator, and the commands that communicate with them.
//
// Each subcommand has a file with its name. root.go and help.go connect them. What a command does beyond its flags and its output is in
// internal: internal/server assembles the server, and the packages of internal/cli contain what several commands share. When the binary is
// called kubectl-vitrine, it is a plugin of kubectl; as kubectl_complete-vitrine, it completes the command line of the plugin.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/vitrine-dev/vitrine/internal/exit"
)

func main() {
	os.Exit(execute(interruptible(context.Background()), os.Args[0], os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// interruptible returns a context that ends with the first SIGINT, SIGTERM or SIGHUP (the signal of a closed terminal). A second signal
// terminates the process immediately. If the process ignores SIGHUP, as under nohup, it continues to ignore it.
func interruptible(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exit.Interrupted)
	}()
	return ctx
}
