package plane

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
)

func TestPlaneKeepsItsState(t *testing.T) {
	root, err := assets.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := assets.Ensure(t.Context(), assets.Options{Root: root, Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Dir: filepath.Join(t.TempDir(), "state"), Assets: bin}
	kubectl := func(p *Plane, args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(bin, assets.Kubectl), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig, "KUBECACHEDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, out)
		}
		return string(out)
	}

	first, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	kubectl(first, "create", "configmap", "kept", "-n", "default")

	kubectl(first, "create", "namespace", "passing")
	kubectl(first, "create", "configmap", "lost", "-n", "passing")
	kubectl(first, "delete", "namespace", "passing", "--timeout=30s") // waits until it is gone
	kubectl(first, "create", "namespace", "passing")
	if out := kubectl(first, "get", "configmap", "-n", "passing", "-o", "name"); strings.TrimSpace(out) != "" {
		t.Errorf("a deleted namespace left behind %s", out)
	}

	if _, err := Start(t.Context(), opts); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one on the same state: %v, want ErrInUse", err)
	}
	if err := first.Err(); err != nil {
		t.Errorf("it runs, and Err says %v", err)
	}
	first.Stop()
	<-first.Failed()

	second, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Stop()
	if second.URL != first.URL {
		t.Errorf("it moved from %s to %s", first.URL, second.URL)
	}
	if out := kubectl(second, "get", "configmap", "-n", "default", "-o", "name"); !strings.Contains(out, "configmap/kept") {
		t.Errorf("what was created is gone: %s", out)
	}
}

func TestStartSaysWhyItFails(t *testing.T) {
	bin := t.TempDir()
	for name, script := range map[string]string{assets.Etcd: "exec sleep 600", assets.APIServer: "echo no such flag >&2; exit 1"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Start(t.Context(), Options{Dir: t.TempDir(), Assets: bin, Timeout: 20 * time.Second})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver ended") || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("the error is %v", err)
	}
}

func TestCredentialsAreKeptWhileTheyLast(t *testing.T) {
	dir := t.TempDir()
	files, err := ensureCredentials(dir)
	if err != nil {
		t.Fatal(err)
	}
	read := func() string {
		text, err := os.ReadFile(files.ca)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	made := read()
	if _, err := ensureCredentials(dir); err != nil || read() != made {
		t.Errorf("good certificates were replaced (%v)", err)
	}
	if usable(files, time.Now().Add(lifetime-renewal/2)) {
		t.Error("certificates that are about to expire are taken")
	}
	if err := os.Remove(files.admin.key); err != nil {
		t.Fatal(err)
	}
	if _, err := ensureCredentials(dir); err != nil || read() == made {
		t.Errorf("with a file missing they were not made anew (%v)", err)
	}
	info, err := os.Stat(files.admin.key)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the administrator's key has mode %v (%v), want 0600", info.Mode(), err)
	}
}
