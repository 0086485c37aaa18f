// Command controlplane provides the programs of a local Kubernetes API server:
//
//	go -C hack/controlplane run . assets      print a directory with etcd, kube-apiserver and kubectl (see KUBEBUILDER_ASSETS)
//
// The programs are the official builds for envtest, which are downloaded once. If the download fails, the command builds the
// versions in tools/kubernetes/go.mod. The programs are kept in the user's cache, or in VITRINE_CACHE. If KUBEBUILDER_ASSETS is
// already set, the command uses that directory.
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
