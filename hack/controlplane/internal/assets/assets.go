// Package assets provides the programs of a local control plane, etcd, kube-apiserver and kubectl, built from Go
// modules: the versions are those of the go.mod files in hack/controlplane/tools, and nothing but Go and its module proxy is needed.
//
// They are built once per version and machine, into the user's cache, where every clone finds them. A program in the
// cache is complete: it is built beside its place and renamed into it, under a lock.
package assets

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
)

// Names of the programs.
const (
	Etcd      = "etcd"
	APIServer = "kube-apiserver"
	Kubectl   = "kubectl"
	// ControllerManager is built for those that ask for it; see Ensure.
	ControllerManager = "kube-controller-manager"
)

// packages are the main packages of the programs, as the tool directives of go.mod list them.
var packages = map[string]string{
	Etcd:      "go.etcd.io/etcd/server/v3",
	APIServer: "k8s.io/kubernetes/cmd/kube-apiserver",
	Kubectl:   "k8s.io/kubernetes/cmd/kubectl",

	ControllerManager: "k8s.io/kubernetes/cmd/kube-controller-manager",
}

// EnvAssets names a directory that already holds the programs, as envtest does; EnvCache the cache to use.
const (
	EnvAssets = "KUBEBUILDER_ASSETS"
	EnvCache  = "VITRINE_CACHE"
)

// Options say where things are.
type Options struct {
	// Root is the root of this repository; the versions come from the go.mod files below its hack/controlplane/tools.
	Root string
	// Progress receives a line for each thing that is done; nil for silence.
	Progress func(format string, args ...any)
	// Heartbeat is how often a build reports its progress; 0 means every 15 s.
	Heartbeat time.Duration
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

// Ensure returns a directory that holds the named programs (none: Etcd, Kubectl and APIServer). With KUBEBUILDER_ASSETS set, that
// directory is checked and returned and nothing is built. Otherwise what the cache lacks is built, which takes minutes.
func Ensure(ctx context.Context, opts Options, names ...string) (string, error) {
	names = orAll(names)
	opts = opts.withDefaults()
	if dir := os.Getenv(EnvAssets); dir != "" {
		if lacking := missing(dir, names); len(lacking) > 0 {
			return "", fmt.Errorf("%s is set to %s, where there is no %s: put it there, or unset the variable to have it built",
				EnvAssets, dir, strings.Join(lacking, ", "))
		}
		return filepath.Abs(dir)
	}
	dir, version, err := place(Module(opts.Root))
	if err != nil {
		return "", err
	}
	if len(missing(dir, names)) == 0 {
		return dir, nil
	}
	unlock, err := lock(ctx, opts, dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	lacking := missing(dir, names) // again: the one that was waited for may have built them
	if len(lacking) == 0 {
		return dir, nil
	}
	opts.Progress("building %s from Go modules, once for this machine, into %s", strings.Join(lacking, ", "), dir)
	begin := time.Now()
	programs := make([]program, len(lacking))
	for i, name := range lacking {
		programs[i] = program{name, packages[name]}
	}
	if err := build(ctx, opts, dir, Module(opts.Root), linkerFlags(version), programs...); err != nil {
		return "", err
	}
	opts.Progress("control plane built in %s", time.Since(begin).Round(time.Second))
	return dir, nil
}

// lock waits until no other process fills a directory of the cache, and creates the directory above it.
func lock(ctx context.Context, opts Options, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make the cache directory (set %s to choose another): %w", EnvCache, err)
	}
	file := flock.New(dir + ".lock")
	taken, err := file.TryLock()
	if err == nil && !taken {
		opts.Progress("another process fills %s; waiting for it", dir)
		_, err = file.TryLockContext(ctx, 200*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("lock a directory of the cache: %w", err)
	}
	return func() { file.Close() }, nil
}

// Built reports whether Ensure would find the named programs (none: Etcd, Kubectl and APIServer) without building any.
func Built(root string, names ...string) bool {
	dir := os.Getenv(EnvAssets)
	if dir == "" {
		var err error
		if dir, _, err = place(Module(root)); err != nil {
			return false // which Ensure reports
		}
	}
	return len(missing(dir, orAll(names))) == 0
}

// orAll returns the names, or Etcd, Kubectl and APIServer for none.
func orAll(names []string) []string {
	if len(names) == 0 {
		return []string{Etcd, Kubectl, APIServer}
	}
	return names
}

// missing lists the names without an executable in dir.
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

// place returns the directory in the cache, and the version of Kubernetes with its "v".
func place(module string) (dir, version string, err error) {
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", "", fmt.Errorf("read the go.mod of the control plane: %w", err)
	}
	kubernetes, etcd := required(mod, "k8s.io/kubernetes"), required(mod, "go.etcd.io/etcd/server/v3")
	if kubernetes == "" || etcd == "" {
		return "", "", fmt.Errorf("%s does not require k8s.io/kubernetes and go.etcd.io/etcd/server/v3", filepath.Join(module, "go.mod"))
	}
	cache, err := cacheDir()
	if err != nil {
		return "", "", err
	}
	key := fmt.Sprintf("kubernetes-%s-etcd-%s-%s-%s", kubernetes, etcd, runtime.GOOS, runtime.GOARCH)
	return filepath.Join(cache, "controlplane", key), kubernetes, nil
}

// cacheDir returns the directory below which everything that is built is kept, as an absolute path.
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

// required returns the version that a go.mod requires of a module, "" when it does not.
func required(mod []byte, module string) string {
	line := regexp.MustCompile(`(?m)^(?:require)?\s*` + regexp.QuoteMeta(module) + `\s+(v\S+)`)
	if m := line.FindSubmatch(mod); m != nil {
		return string(m[1])
	}
	return ""
}

// linkerFlags stamp the version: a server built without them calls itself v0.0.0-master, and clients that look at the
// version of the server go wrong.
func linkerFlags(version string) string {
	minor, _, _ := strings.Cut(strings.TrimPrefix(version, "v1."), ".")
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, stamp := range []string{"gitVersion=" + version, "gitMajor=1", "gitMinor=" + minor, "gitTreeState=archive"} {
			flags = append(flags, "-X", pkg+"."+stamp)
		}
	}
	return strings.Join(flags, " ")
}

// program is one program to build.
type program struct {
	name string // of the file
	pkg  string // the main package
}

// build builds programs into dir with one call of the go command: it compiles each package once, although the programs share
// most of theirs, and links one program while it compiles the rest of another. module is the directory of the module whose
// go.mod has the versions, and flags are for the linker.
func build(ctx context.Context, opts Options, dir, module, flags string, programs ...program) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the cache directory (set %s to choose another): %w", EnvCache, err)
	}
	temp, err := os.MkdirTemp(dir, ".building-")
	if err != nil {
		return fmt.Errorf("make a directory in the cache (set %s to choose another): %w", EnvCache, err)
	}
	defer os.RemoveAll(temp)

	// -mod=readonly whatever GOFLAGS says, and no workspace: the versions are those of go.mod. -v names each compiled package.
	args := []string{"build", "-v", "-mod=readonly", "-trimpath", "-ldflags", flags, "-o", temp + string(filepath.Separator)}
	if memory, err := os.ReadFile("/proc/meminfo"); err == nil && available(memory) < enough {
		args = append(args, "-p=1")
	}
	names := make([]string, len(programs))
	for i, p := range programs {
		args = append(args, p.pkg)
		names[i] = p.name
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS=", "GOARCH=")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	what := strings.Join(names, ", ")
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("build %s: %w", what, err)
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w", what, err)
	}
	said := messages{done: make(chan struct{})}
	go said.read(pipe)
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(opts.Heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				opts.Progress("  still building, %s (modules downloaded: %d, packages compiled: %d)",
					time.Since(begin).Round(time.Second), said.downloaded.Load(), said.compiled.Load())
			}
		}
	}()
	<-said.done // before Wait, which closes the pipe
	err = cmd.Wait()
	close(stop)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", what, err, said.rest.String())
	}
	for _, p := range programs {
		if err := os.Rename(filepath.Join(temp, executable(p.pkg)), filepath.Join(dir, p.name)); err != nil {
			return fmt.Errorf("move %s to the cache: %w", p.name, err)
		}
	}
	return nil
}

// executable returns the name that the go command gives the program of a package: the last element of the import path that is
// not a major version.
func executable(pkg string) string {
	if regexp.MustCompile(`^v[0-9]+$`).MatchString(path.Base(pkg)) {
		pkg = path.Dir(pkg)
	}
	return path.Base(pkg)
}

// enough is the memory in bytes with which two linkers can run side by side; that of kube-apiserver takes 2 GB.
const enough = 4 << 30

// available returns the available memory in bytes that /proc/meminfo shows.
func available(meminfo []byte) int64 {
	m := regexp.MustCompile(`(?m)^MemAvailable:\s+(\d+) kB$`).FindSubmatch(meminfo)
	if m == nil {
		return enough
	}
	kilobytes, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		return enough
	}
	return kilobytes << 10
}

// messages takes in what the go command writes while it builds.
type messages struct {
	downloaded, compiled atomic.Int64
	rest                 strings.Builder // what is neither; to be read when done is closed
	done                 chan struct{}
}

// read reads until the end and closes done.
func (m *messages) read(r io.Reader) {
	defer close(m.done)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "go: downloading "):
			m.downloaded.Add(1)
		case !strings.ContainsAny(line, " \t"): // an import path
			m.compiled.Add(1)
		default:
			m.rest.WriteString(line + "\n")
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, os.ErrClosed) {
		fmt.Fprintf(&m.rest, "(its messages could not be read further: %v)\n", err)
	}
}

// FindRoot returns the root of this repository, at or above the working directory.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(Module(at), "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not within a clone of this repository: change into one", dir)
		}
	}
}

// Module returns the directory of the go.mod that pins the programs of the control plane.
func Module(root string) string { return filepath.Join(modules(root), "kubernetes") }

// modules returns the directory with a module for each set of programs.
func modules(root string) string { return filepath.Join(root, "hack", "controlplane", "tools") }
