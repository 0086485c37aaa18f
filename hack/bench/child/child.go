// Package child starts the programs that the benchmarks measure. It reads their processor time, memory use and mapped files from the
// kernel. It needs Linux.
//
// The kernel kills a child when its parent ends. The package may import the standard library, golang.org/x/sys and procfs. benchexec and
// hyperfine were refused, because they measure programs that end, and not a round of requests to a server.
package child

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Spec describes a program.
type Spec struct {
	// Name identifies the program in messages.
	Name, Path string
	Args       []string
	// Group is the control group in which the program starts; nil means the group of this process.
	Group *Group
	// Output is the file to which standard output and standard error are appended.
	Output string
	// Stdin is the standard input; nil means an empty input. If Stdout is set, it receives the standard output instead of Output.
	Stdin  io.Reader
	Stdout io.Writer
}

// Process is a running program, which another program may have started.
type Process struct {
	// Name identifies the program in messages.
	Name string
	PID  int
}

// Child is a started program.
type Child struct {
	Process
	output string
	exited chan struct{}
	err    error
}

// Start starts a program.
func Start(tb testing.TB, s Spec) *Child {
	tb.Helper()
	out, err := os.OpenFile(s.Output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	if s.Group != nil {
		s.Path, s.Args = s.Group.command(s.Path, s.Args)
	}
	cmd := exec.Command(s.Path, s.Args...) //nolint:noctx // no context: the program outlives the benchmark that starts it
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, out, out
	if s.Stdout != nil {
		cmd.Stdout = s.Stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c := &Child{Process: Process{Name: s.Name}, output: s.Output, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when the thread that started the child ends, so this goroutine must keep its thread until the child
		// has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer out.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.exited)
		}
	}()
	if err := <-started; err != nil {
		tb.Fatalf("start %s: %v", s.Name, err)
	}
	c.PID = cmd.Process.Pid
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the end of the output of %s:\n%s", s.Name, c.tail())
		}
	})
	return c
}

// Stop sends a signal and waits until the program ends. A program that has already ended is not an error.
func (c *Child) Stop(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if err := syscall.Kill(c.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		tb.Fatalf("signal %s: %v", c.Name, err)
	}
	select {
	case <-c.exited:
	case <-time.After(time.Minute):
		tb.Fatalf("%s did not end within a minute", c.Name)
	}
}

// Await polls until ready returns true. It fails if the program ends or ten minutes pass.
func (c *Child) Await(tb testing.TB, what string, ready func() bool) {
	tb.Helper()
	timeout, tick := time.After(10*time.Minute), time.NewTicker(2*time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-c.exited:
			tb.Fatalf("%s ended before it was %s: %v\n%s", c.Name, what, c.err, c.tail())
		case <-timeout:
			tb.Fatalf("%s is not %s\n%s", c.Name, what, c.tail())
		case <-tick.C:
		}
	}
}

// tail returns the last part of the output file.
func (c *Child) tail() string {
	text, err := os.ReadFile(c.output)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// CPU returns the processor time (user and system) that all threads of the program have used since its start.
func (p Process) CPU(tb testing.TB) time.Duration {
	tb.Helper()
	// Read the clock that clock_getcpuclockid(3) returns for the process. It is more precise than the files in /proc, which count in
	// hundredths of a second.
	const schedulerClock = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.PID<<3|schedulerClock), &t); err != nil {
		tb.Fatalf("read the processor time of %s: %v", p.Name, err)
	}
	return time.Duration(t.Nano())
}

// Memory is the memory use of a program in bytes.
type Memory struct {
	// Resident is the sum of Anonymous (heap, stacks) and File (mapped files in memory).
	Resident, Anonymous, File int64
	// Mapped is the total length of the mappings of files below a directory, including pages that are not in memory. Files contains the
	// path of each of these files once, except for deleted files.
	Mapped int64
	Files  []string
}

// Memory returns the memory use of the program. Mapped counts the files below dir, which must not contain symbolic links.
func (p Process) Memory(tb testing.TB, dir string) Memory {
	tb.Helper()
	proc, err := procfs.NewProc(p.PID)
	if err != nil {
		tb.Fatal(err)
	}
	status, statusErr := proc.NewStatus()
	maps, err := proc.ProcMaps()
	if err := errors.Join(statusErr, err); err != nil {
		tb.Fatal(err)
	}
	m := Memory{Resident: int64(status.VmRSS), Anonymous: int64(status.RssAnon), File: int64(status.RssFile)}
	m.count(maps, dir)
	return m
}

// count adds the mappings of files below dir to m. The path of a deleted file ends with "(deleted)".
func (m *Memory) count(maps []*procfs.ProcMap, dir string) {
	for _, at := range maps {
		if !strings.HasPrefix(at.Pathname, dir+"/") {
			continue
		}
		m.Mapped += int64(at.EndAddr - at.StartAddr)
		if !strings.HasSuffix(at.Pathname, " (deleted)") && !slices.Contains(m.Files, at.Pathname) {
			m.Files = append(m.Files, at.Pathname)
		}
	}
}

// DiskUsage returns the number of bytes that the files below a directory occupy on disk. It ignores files that are deleted while it runs.
func DiskUsage(tb testing.TB, dir string) (total int64) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				total += info.Sys().(*syscall.Stat_t).Blocks * 512
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return total
}
