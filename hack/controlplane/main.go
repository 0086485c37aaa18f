// Command controlplane provides the programs of a local Kubernetes API server:
//
//	go -C hack/controlplane run . assets      print a directory with etcd, kube-apiserver and kubectl (see KUBEBUILDER_ASSETS)
//
// The programs are the official builds for envtest, downloaded once, or a build of the versions in tools/kubernetes/go.mod
// where they cannot be downloaded. They are kept in the user's cache; VITRINE_CACHE chooses another place. A KUBEBUILDER_ASSETS
// that is set already is used as it is.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := process.WithParent(ctx)
	defer cancel()
	dir, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

func run(ctx context.Context, args []string) (string, error) {
	if len(args) != 1 || args[0] != "assets" {
		return "", errors.New("usage: controlplane assets")
	}
	root, err := assets.FindRoot()
	if err != nil {
		return "", err
	}
	return assets.Dir(ctx, assets.Options{Root: root, Progress: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}})
}
