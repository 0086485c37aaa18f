package assets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeGo puts a go command into the PATH that runs script, and a root and an empty cache around it. In the script,
// $output is the directory for the programs and $packages what is built; each call is noted in $calls. A module that is
// downloaded is in the directory $calls.module.
func fakeGo(t *testing.T, script string) (opts Options, calls string, progress func() string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	text := fmt.Sprintf("#!/bin/sh\ncalls=%s\n[ \"$1\" = mod ] && echo \"{\\\"Dir\\\": \\\"$calls.module\\\"}\" && exit\nwhile [ \"$1\" != -o ]; do shift; done\noutput=$2\nshift 2\n[ \"$1\" != -p=1 ] || shift\npackages=$*\necho \"$packages\" >>\"$calls\"\n%s\n", calls, script)
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "go"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	if err := os.MkdirAll(Module(root), 0o700); err != nil {
		t.Fatal(err)
	}
	mod := "module m\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 v3.1.2 // indirect\n\tk8s.io/kubernetes v1.23.4 // indirect\n)\n"
	if err := os.WriteFile(filepath.Join(Module(root), "go.mod"), []byte(mod), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	t.Setenv(EnvAssets, "")
	t.Setenv(EnvCache, filepath.Join(dir, "cache"))
	var mu sync.Mutex
	var said strings.Builder
	opts = Options{Root: root, Progress: func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&said, format+"\n", args...)
	}}
	return opts, calls, func() string {
		mu.Lock()
		defer mu.Unlock()
		return said.String()
	}
}

const builds = `for package in $packages; do
	case $package in */v3) package=${package%/v3} ;; esac
	printf '#!/bin/sh\n' >"$output${package##*/}"; chmod +x "$output${package##*/}"
done`

func TestEnsureBuildsOnce(t *testing.T) {
	opts, calls, progress := fakeGo(t, "echo 'go: downloading example.com/x v1.0.0' >&2\n"+builds)
	dir, err := Ensure(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if lacking := missing(dir, []string{Etcd, APIServer, Kubectl}); len(lacking) > 0 {
		t.Errorf("%s lacks %v", dir, lacking)
	}
	for _, part := range []string{"v1.23.4", "v3.1.2"} {
		if !strings.Contains(dir, part) {
			t.Errorf("%s does not name %s", dir, part)
		}
	}
	for _, want := range []string{"building etcd, kubectl, kube-apiserver from Go modules", "control plane built in"} {
		if !strings.Contains(progress(), want) {
			t.Errorf("nothing says %q:\n%s", want, progress())
		}
	}
	again, err := Ensure(t.Context(), opts)
	if err != nil || again != dir {
		t.Errorf("a second time: %s, %v, want %s", again, err, dir)
	}
	built, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join([]string{packages[Etcd], packages[Kubectl], packages[APIServer]}, " ") + "\n"; string(built) != want {
		t.Errorf("builds:\n%s\nwant one of all programs:\n%s", built, want)
	}
}

func TestBuilt(t *testing.T) {
	opts, _, _ := fakeGo(t, builds)
	if Built(opts.Root) {
		t.Error("all programs are built already in an empty cache")
	}
	if _, err := Ensure(t.Context(), opts, Kubectl); err != nil {
		t.Fatal(err)
	}
	if !Built(opts.Root, Kubectl) || Built(opts.Root) {
		t.Errorf("kubectl built: %v, all built: %v, want true and false", Built(opts.Root, Kubectl), Built(opts.Root))
	}
}

func TestAvailableMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:       16000000 kB\nMemAvailable:    2000000 kB\nBuffers: 1 kB\n": 2_000_000 << 10,
		"MemTotal:       16000000 kB\n":                                             enough,
	} {
		if got := available([]byte(text)); got != want {
			t.Errorf("%q: %d bytes, want %d", text, got, want)
		}
	}
}

func TestEnsureBuildsWhatIsAskedFor(t *testing.T) {
	opts, calls, _ := fakeGo(t, builds)
	if _, err := Ensure(t.Context(), opts, Kubectl); err != nil {
		t.Fatal(err)
	}
	if built, err := os.ReadFile(calls); err != nil || string(built) != packages[Kubectl]+"\n" {
		t.Errorf("built %s (%v), want kubectl alone", built, err)
	}
}

func TestEnsureTogether(t *testing.T) {
	opts, calls, _ := fakeGo(t, builds)
	var group sync.WaitGroup
	errs := make([]error, 5)
	for i := range errs {
		group.Go(func() { _, errs[i] = Ensure(t.Context(), opts) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if built, err := os.ReadFile(calls); err != nil || strings.Count(string(built), "\n") != 1 {
		t.Errorf("5 callers at once built (%v):\n%s\nwant one build", err, built)
	}
}

func TestEnsureSaysWhyABuildFails(t *testing.T) {
	opts, _, _ := fakeGo(t, "echo 'go: downloading example.com/x v1.0.0' >&2; echo example.com/x/y >&2; echo 'x.go:1: broken' >&2; echo half >\"${output}etcd\"; exit 1")
	_, err := Ensure(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "build etcd") || !strings.Contains(err.Error(), "x.go:1: broken") ||
		strings.Contains(err.Error(), "downloading") || strings.Contains(err.Error(), "example.com/x/y") {
		t.Errorf("the error is %v", err)
	}
	dir, _, err := place(Module(opts.Root))
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("a failed build leaves %v (%v)", left, err)
	}
}

func TestEnsureSpeaksWhileItBuilds(t *testing.T) {
	// The build ends when the heartbeat was heard.
	opts, calls, progress := fakeGo(t, `echo 'go: downloading example.com/x v1.0.0' >&2; echo example.com/x >&2; echo example.com/x/y >&2
while [ ! -e "$calls.heard" ]; do :; done; `+builds)
	opts.Heartbeat = time.Millisecond
	said := opts.Progress
	heard := sync.OnceFunc(func() {
		if err := os.WriteFile(calls+".heard", nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	opts.Progress = func(format string, args ...any) {
		said(format, args...)
		if strings.HasSuffix(progress(), "(modules downloaded: 1, packages compiled: 2)\n") {
			heard()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := Ensure(ctx, opts, Etcd); err != nil {
		t.Error(err)
	}
}

func TestEnsureHonoursGivenAssets(t *testing.T) {
	opts, calls, _ := fakeGo(t, builds)
	given := t.TempDir()
	t.Setenv(EnvAssets, given)
	for _, name := range []string{Etcd, APIServer} {
		if err := os.WriteFile(filepath.Join(given, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Ensure(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "no kubectl") {
		t.Errorf("without kubectl: %v", err)
	}
	if err := os.WriteFile(filepath.Join(given, Kubectl), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(t.Context(), opts); err == nil {
		t.Error("a kubectl that cannot be executed is taken")
	}
	if err := os.Chmod(filepath.Join(given, Kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	if dir, err := Ensure(t.Context(), opts); err != nil || dir != given {
		t.Errorf("Ensure = %s, %v, want %s", dir, err, given)
	}
	if _, err := os.Stat(calls); err == nil {
		t.Error("something was built")
	}
}

// TestVersions checks the go.mod of the control plane: it has both versions, and every program is one of its tools.
func TestVersions(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "..", "tools", "kubernetes", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	kubernetes := required(mod, "k8s.io/kubernetes")
	if kubernetes == "" || required(mod, "go.etcd.io/etcd/server/v3") == "" {
		t.Error("go.mod lacks a version")
	}
	lines := strings.Split(string(mod), "\n")
	for name, pkg := range packages {
		if !slices.Contains(lines, "\t"+pkg) {
			t.Errorf("%s, %s, is no tool of go.mod", name, pkg)
		}
	}
	if flags := linkerFlags("v1.37.1"); !strings.Contains(flags, "gitMinor=37 ") || !strings.Contains(flags, "gitVersion=v1.37.1 ") {
		t.Errorf("the linker flags do not stamp the version: %s", flags)
	}
}
