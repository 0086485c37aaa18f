// Command controlplane provides programs that are not part of this repository:
//
//	go -C hack/controlplane run . assets      print a directory with etcd, kube-apiserver and kubectl (see KUBEBUILDER_ASSETS)
//	go -C hack/controlplane run . gitops      print the programs of make gitops, after building them once
//
// The programs of the first form are the official builds for envtest, which are downloaded once. If the download fails, the command builds
// the versions in tools/kubernetes/go.mod. The programs are kept in the user's cache, or in VITRINE_CACHE. If KUBEBUILDER_ASSETS is already
// set, the command uses that directory. The command setup-envtest was refused in favor of its packages, because it cannot build the programs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := process.WithParent(ctx)
	defer cancel()
	paths, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(paths, "\n"))
}

func run(ctx context.Context, args []string) (paths []string, err error) {
	root, err := assets.FindRoot()
	if err != nil {
		return nil, err
	}
	opts := assets.Options{Root: root, Progress: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}}
	switch {
	case slices.Equal(args, []string{"assets"}):
		dir, err := assets.Dir(ctx, opts)
		return []string{dir}, err
	case slices.Equal(args, []string{"gitops"}):
		return assets.GitOps(ctx, opts)
	}
	return nil, errors.New("usage: controlplane assets|gitops")
}
