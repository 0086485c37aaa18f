package child

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Group is a control group with a memory limit. The kernel counts the memory of its processes, and the pages of files that they read first.
// github.com/containerd/cgroups was refused, because it needs a D-Bus client and protocol buffers to write one file.
type Group struct {
	dir string
	// cached is the name, in memory.stat, of the number of bytes of files in memory. It depends on the version of the control groups.
	cached string
}

// mount is the directory of the control groups.
const mount = "/sys/fs/cgroup"

// NewGroup creates a control group. It needs root. limit is in bytes. The group is removed at the end of the test.
func NewGroup(tb testing.TB, name string, limit int64) *Group {
	tb.Helper()
	g := &Group{dir: filepath.Join(mount, "memory", name), cached: "cache"}
	setting := "memory.limit_in_bytes"
	if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
		g, setting = &Group{dir: filepath.Join(mount, name), cached: "file"}, "memory.max"
		if err := os.WriteFile(filepath.Join(mount, "cgroup.subtree_control"), []byte("+memory"), 0); err != nil {
			tb.Fatalf("let control groups limit memory: %v", err)
		}
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		tb.Fatalf("create a control group: %v", err)
	}
	tb.Cleanup(func() { _ = os.Remove(g.dir) })
	if err := os.WriteFile(filepath.Join(g.dir, setting), []byte(strconv.FormatInt(limit, 10)), 0); err != nil {
		tb.Fatalf("limit the memory: %v", err)
	}
	return g
}

// command returns a command that joins the group and then becomes the given program.
func (g *Group) command(path string, args []string) (string, []string) {
	return "/bin/sh", slices.Concat([]string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs"), path}, args)
}

// Use is the memory use of a group.
type Use struct {
	// Cached is the number of bytes of files in memory, and Faults the number of page faults that had to read from a disk.
	Cached, Faults int64
}

// Use returns the memory use of the group.
func (g *Group) Use(tb testing.TB) (u Use) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "memory.stat"))
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case g.cached:
			u.Cached = n
		case "pgmajfault":
			u.Faults = n
		}
	}
	return u
}

// Remove removes the group, which must have no processes.
func (g *Group) Remove(tb testing.TB) {
	tb.Helper()
	if err := os.Remove(g.dir); err != nil {
		tb.Fatal(err)
	}
}
