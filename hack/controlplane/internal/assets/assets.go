// Package assets provides programs that the tools in hack start, but that are not part of this repository: etcd, kube-apiserver and
// kubectl, and the GitOps tools of make gitops. It downloads the official builds of etcd, kube-apiserver and kubectl for envtest, if
// possible. Otherwise, and for all other programs, it builds the programs from Go modules, which needs only Go and its module proxy.
//
// The package keeps the programs in the user's cache, which all clones of the repository share. A program in the cache is always complete,
// because the package writes it to a temporary place and renames it under a lock.
package assets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Names of the programs of a control plane.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	Kubectl           = "kubectl"
	ControllerManager = "kube-controller-manager"
)

// EnvAssets is the environment variable, also used by envtest, that names a directory with the programs. EnvCache is the environment
// variable that names another directory for the cache.
const (
	EnvAssets = "KUBEBUILDER_ASSETS"
	EnvCache  = "VITRINE_CACHE"
)

// Options configure the package.
type Options struct {
	// Root is the root of this repository. The go.mod files below its folder hack/controlplane/tools determine the versions of the
	// programs.
	Root string
	// Progress receives a line for each step; nil disables it.
	Progress func(format string, args ...any)
	// Heartbeat is the time between two progress reports of a build; 0 means 15 s.
	Heartbeat time.Duration

	source source // source of official builds; the zero value is the source of envtest
}

func (o Options) withDefaults() Options {
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 15 * time.Second
	}
	return o
}

// Dir returns a directory with etcd, kube-apiserver and kubectl. It is the first one available:
//
//   - the directory that KUBEBUILDER_ASSETS names; it is an error when a program is missing there
//   - the cache, with programs of an earlier call
//   - the newest official build for envtest of the minor version in tools/kubernetes/go.mod, downloaded into the cache
//   - a build of exactly the versions in tools/kubernetes/go.mod, which takes minutes
func Dir(ctx context.Context, opts Options) (string, error) {
	opts = opts.withDefaults()
	names := []string{Etcd, Kubectl, APIServer}
	if dir := os.Getenv(EnvAssets); dir != "" {
		if lacking := missing(dir, names); len(lacking) > 0 {
			return "", fmt.Errorf("%s is set to %s, but that directory lacks %s: add what is missing, or unset the variable", EnvAssets, dir, strings.Join(lacking, ", "))
		}
		return filepath.Abs(dir)
	}
	built, err := Kubernetes.Find(opts.Root)
	if err != nil || built.Has(names...) {
		return built.Dir, err
	}
	series := built.Version[1:strings.LastIndex(built.Version, ".")]
	official := filepath.Join(filepath.Dir(built.Dir), fmt.Sprintf("envtest-%s-%s-%s", series, runtime.GOOS, runtime.GOARCH))
	unlock, err := lock(ctx, opts, official)
	if err != nil {
		return "", err
	}
	defer unlock()
	if len(missing(official, names)) == 0 {
		return official, nil
	}
	opts.Progress("first run: downloading etcd, kube-apiserver and kubectl (Kubernetes %s) into %s", series, official)
	if err = opts.source.download(ctx, series, official); err == nil {
		return official, nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	opts.Progress("cannot download the programs: %v", err)
	opts.Progress("building the programs from source instead: this happens only once, and takes about %d minutes if the machine is otherwise idle", minutes(runtime.NumCPU()))
	built, err = Kubernetes.Ensure(ctx, opts, names...)
	return built.Dir, err
}

// minutes estimates the duration of a build of the control plane. The build takes about 12 minutes of processor time, and cannot use more
// than 8 processors.
func minutes(processors int) int { return 1 + 12/min(processors, 8) }

// lock locks a directory of the cache for this process, and creates its parent directory. If another process has the lock, lock waits.
func lock(ctx context.Context, opts Options, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("create the cache directory (set %s to choose another): %w", EnvCache, err)
	}
	file := flock.New(dir + ".lock")
	taken, err := file.TryLock()
	if err == nil && !taken {
		opts.Progress("waiting for another process that is filling %s", dir)
		_, err = file.TryLockContext(ctx, 200*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the cache directory: %w", err)
	}
	return func() { file.Close() }, nil
}

// missing returns the names without an executable in dir.
func missing(dir string, names []string) []string {
	var out []string
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			out = append(out, name)
		}
	}
	return out
}

// cacheDir returns the absolute path of the cache.
func cacheDir() (string, error) {
	cache := os.Getenv(EnvCache)
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the user's cache directory (set %s to choose one): %w", EnvCache, err)
		}
		cache = filepath.Join(user, "vitrine")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", fmt.Errorf("resolve the cache directory: %w", err)
	}
	return cache, nil
}

// FindRoot returns the root of this repository, at or above the working directory.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(Kubernetes.module(at)); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in a clone of the Vitrine repository: run the command from inside a clone", dir)
		}
	}
}
