package child

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

func start(t *testing.T, script string) *Child {
	t.Helper()
	c := Start(t, Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}, Output: filepath.Join(t.TempDir(), "out")})
	t.Cleanup(func() { c.Stop(t, syscall.SIGKILL) })
	return c
}

func TestCPUAndMemory(t *testing.T) {
	c := start(t, "while :; do :; done")
	c.Await(t, "busy", func() bool { return c.CPU(t) > 50*time.Millisecond })
	m := c.Memory(t, t.TempDir())
	if m.Resident < 1<<18 || m.Resident != m.Anonymous+m.File || m.Mapped != 0 {
		t.Errorf("%+v", m)
	}
	c.Stop(t, syscall.SIGTERM)
}

func TestTail(t *testing.T) {
	c := start(t, "echo no room; exit 4")
	<-c.exited
	if c.err == nil || c.tail() != "no room\n" {
		t.Errorf("%v: %q", c.err, c.tail())
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
	if n := DiskUsage(t, dir); n < 1<<20 || n > 2<<20 {
		t.Errorf("%d", n)
	}
}
