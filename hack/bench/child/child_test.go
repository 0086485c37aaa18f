package child

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

func start(t *testing.T, script string) *Child {
	t.Helper()
	c, err := Start(Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}, Output: filepath.Join(t.TempDir(), "out")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop(syscall.SIGKILL) })
	return c
}

func TestCPUAndMemory(t *testing.T) {
	c := start(t, "while :; do :; done")
	err := c.Await(t.Context(), 30*time.Second, "busy", func() bool {
		spent, err := c.CPU()
		return err == nil && spent > 50*time.Millisecond
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Memory(t.TempDir())
	if err != nil || m.Resident < 1<<18 || m.Resident != m.Anonymous+m.File || m.Mapped != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if err := c.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if _, err := c.CPU(); err == nil {
		t.Error("CPU returns a time for a program that has ended")
	}
}

func TestAwaitErrorContainsOutput(t *testing.T) {
	c := start(t, "echo no room; exit 4")
	err := c.Await(t.Context(), 30*time.Second, "ready", func() bool { return false })
	if err == nil || !strings.Contains(err.Error(), "no room") || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("%v", err)
	}
}

func TestMappedFiles(t *testing.T) {
	for path, want := range map[string]Memory{
		"/data/x/seg-1":           {Mapped: 0x3000, Files: []string{"/data/x/seg-1"}},
		"/data/x/seg-1 (deleted)": {Mapped: 0x3000},
		"/data/xy/seg":            {},
		"":                        {},
	} {
		var got Memory
		got.count([]*procfs.ProcMap{{StartAddr: 0x7f0000000000, EndAddr: 0x7f0000003000, Pathname: path}}, "/data/x")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v; want %+v", path, got, want)
		}
	}
}

func TestDiskUsage(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), bytes.Repeat([]byte("x"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := DiskUsage(dir); err != nil || n < 1<<20 || n > 2<<20 {
		t.Errorf("%d, %v", n, err)
	}
}
