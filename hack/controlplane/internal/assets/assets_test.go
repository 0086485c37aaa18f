package assets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeGo puts a fake go command that runs script into PATH, and creates a root and an empty cache. In the script, $output is the directory
// for the programs, $packages lists the packages to build, and $calls is a file that records each call. A downloaded module is in the
// directory $calls.module. Nothing listens on the address of the official builds.
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
	if err := os.MkdirAll(Kubernetes.module(root), 0o700); err != nil {
		t.Fatal(err)
	}
	mod := "module m\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 v3.1.2 // indirect\n\tk8s.io/kubernetes v1.23.4 // indirect\n)\n"
	if err := os.WriteFile(filepath.Join(Kubernetes.module(root), "go.mod"), []byte(mod), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	t.Setenv(EnvAssets, "")
	t.Setenv(EnvCache, filepath.Join(dir, "cache"))
	var mu sync.Mutex
	var said strings.Builder
	opts = Options{Root: root, source: source{index: "http://127.0.0.1:1/"}, Progress: func(format string, args ...any) {
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

func TestDirBuildsOnceWhatCannotBeDownloaded(t *testing.T) {
	opts, calls, progress := fakeGo(t, "echo 'go: downloading example.com/x v1.0.0' >&2\n"+builds)
	dir, err := Dir(t.Context(), opts)
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
	for _, want := range []string{"cannot download the programs: ", "connection refused", "building the programs from source instead: ", "building etcd, kubectl, kube-apiserver…", "built etcd"} {
		if !strings.Contains(progress(), want) {
			t.Errorf("nothing says %q:\n%s", want, progress())
		}
	}
	again, err := Dir(t.Context(), opts)
	if err != nil || again != dir {
		t.Errorf("a second time: %s, %v, want %s", again, err, dir)
	}
	built, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join([]string{Kubernetes.Packages[Etcd], Kubernetes.Packages[Kubectl], Kubernetes.Packages[APIServer]}, " ") + "\n"; string(built) != want {
		t.Errorf("builds:\n%s\nwant one of all programs:\n%s", built, want)
	}
}

func TestAvailableMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:       16000000 kB\nMemAvailable:    2000000 kB\nBuffers: 1 kB\n": 2_000_000 << 10,
		"MemTotal:       16000000 kB\n":                                             enough,
	} {
		if got := available(text); got != want {
			t.Errorf("%q: %d bytes, want %d", text, got, want)
		}
	}
}

func TestEnsureBuildsWhatIsAskedFor(t *testing.T) {
	opts, calls, _ := fakeGo(t, builds)
	built, err := Kubernetes.Ensure(t.Context(), opts, Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	if made, err := os.ReadFile(calls); err != nil || string(made) != Kubernetes.Packages[Kubectl]+"\n" {
		t.Errorf("built %s (%v), want kubectl alone", made, err)
	}
	if !built.Has(Kubectl) || built.Has(Kubectl, Etcd) {
		t.Errorf("kubectl built: %v, kubectl and etcd: %v, want true and false", built.Has(Kubectl), built.Has(Kubectl, Etcd))
	}
}

func TestEnsureTogether(t *testing.T) {
	opts, calls, _ := fakeGo(t, builds)
	var group sync.WaitGroup
	errs := make([]error, 5)
	for i := range errs {
		group.Go(func() { _, errs[i] = Dir(t.Context(), opts) })
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
	_, err := Dir(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "building etcd") || !strings.Contains(err.Error(), "x.go:1: broken") ||
		strings.Contains(err.Error(), "downloading") || strings.Contains(err.Error(), "example.com/x/y") {
		t.Errorf("the error is %v", err)
	}
	built, err := Kubernetes.Find(opts.Root)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(built.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("a failed build leaves %v (%v)", left, err)
	}
}

func TestEnsureReportsWhileItBuilds(t *testing.T) {
	// The script ends only after a heartbeat has been reported.
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
	if _, err := Kubernetes.Ensure(ctx, opts, Etcd); err != nil {
		t.Error(err)
	}
}

func TestDirHonoursGivenAssets(t *testing.T) {
	opts, calls, _ := fakeGo(t, builds)
	given := t.TempDir()
	t.Setenv(EnvAssets, given)
	for _, name := range []string{Etcd, APIServer} {
		if err := os.WriteFile(filepath.Join(given, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Dir(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "lacks kubectl") {
		t.Errorf("without kubectl: %v", err)
	}
	if err := os.WriteFile(filepath.Join(given, Kubectl), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(t.Context(), opts); err == nil {
		t.Error("a kubectl that is not executable is accepted")
	}
	if err := os.Chmod(filepath.Join(given, Kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	if dir, err := Dir(t.Context(), opts); err != nil || dir != given {
		t.Errorf("Dir = %s, %v, want %s", dir, err, given)
	}
	if _, err := os.Stat(calls); err == nil {
		t.Error("something was built")
	}
}

func TestMinutes(t *testing.T) {
	for processors, want := range map[int]int{1: 13, 2: 7, 8: 2, 64: 2} {
		if got := minutes(processors); got != want {
			t.Errorf("%d processors: %d minutes, want %d", processors, got, want)
		}
	}
}
