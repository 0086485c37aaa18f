package child

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestGroup checks that a program in a control group cannot use more memory than its limit. It is skipped without root.
func TestGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("DID NOT RUN: only root can create a control group")
	}
	g := NewGroup(t, "vitrine-test", 64<<20)
	run := func(script string) *Child {
		c := Start(t, Spec{Name: "sh", Group: g, Path: "/bin/sh", Args: []string{"-c", script}, Output: filepath.Join(t.TempDir(), "out")})
		<-c.exited
		return c
	}
	if c := run("dd if=/dev/zero of=/dev/null bs=8M count=1 2>/dev/null && echo done"); c.err != nil || c.tail() != "done\n" {
		t.Errorf("within the limit: %v: %s", c.err, c.tail())
	}
	if c := run("exec dd if=/dev/zero of=/dev/null bs=256M count=1"); c.err == nil || !strings.Contains(c.err.Error(), syscall.SIGKILL.String()) {
		t.Errorf("above the limit: %v: %s", c.err, c.tail())
	}
	if u := g.Use(t); u.Cached < 0 || u.Cached > 64<<20 || u.Faults < 0 {
		t.Errorf("%+v", u)
	}
	g.Remove(t)
}
