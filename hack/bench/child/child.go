// Package child starts the programs that the benchmarks measure. It reads their processor time, memory use and mapped files from the
// kernel. It needs Linux.
//
// The kernel kills a child when its parent ends. The package may import the standard library, golang.org/x/sys and procfs.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Spec describes a program.
type Spec struct {
	// Name identifies the program in messages.
	Name string
	Path string
	Args []string
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
	// Output is the path of Spec.Output.
	Output string
	exited chan struct{}
	err    error
}

// Start starts a program.
func Start(s Spec) (*Child, error) {
	out, err := os.OpenFile(s.Output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the output of %s: %w", s.Name, err)
	}
	cmd := exec.Command(s.Path, s.Args...) //nolint:noctx // no context: the caller stops the children in order
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, out, out
	if s.Stdout != nil {
		cmd.Stdout = s.Stdout
	}
	// The child has its own process group, so that Ctrl-C reaches only this process, which then stops its children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c := &Child{Process: Process{Name: s.Name}, Output: s.Output, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when the thread that started the child ends, so this goroutine must keep its thread until the child
		// has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer out.Close()
		if err := cmd.Start(); err != nil {
			started <- fmt.Errorf("start %s: %w", s.Name, err)
			return
		}
		c.PID = cmd.Process.Pid
		started <- nil
		c.err = cmd.Wait()
		close(c.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// Exited returns a channel that is closed when the program has ended.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// patience is the maximum time that a program may take to end after Stop has sent a signal.
const patience = time.Minute

// Stop sends a signal and waits until the program ends. It kills a program that does not end within patience. A program that has already
// ended is not an error.
func (c *Child) Stop(sig syscall.Signal) error {
	if err := syscall.Kill(c.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %s: %w", c.Name, err)
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-c.exited:
		return nil
	case <-timeout.C:
	}
	_ = syscall.Kill(c.PID, syscall.SIGKILL)
	<-c.exited
	return fmt.Errorf("stop %s: it did not end within %s and was killed", c.Name, patience)
}

// Await polls until ready returns true, the program ends, or the timeout passes.
func (c *Child) Await(ctx context.Context, timeout time.Duration, what string, ready func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-c.exited:
			return fmt.Errorf("%s ended before it was %s: %w\n%s", c.Name, what, c.err, c.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not %s: %w\n%s", c.Name, what, ctx.Err(), c.tail())
		case <-tick.C:
		}
	}
	return nil
}

// tail returns the last part of the output file.
func (c *Child) tail() string {
	text, err := os.ReadFile(c.Output)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// CPU returns the processor time (user and system) that all threads of the program have used since its start.
func (p Process) CPU() (time.Duration, error) {
	// Read the clock that clock_getcpuclockid(3) returns for the process. It is more precise than the files in /proc, which count in
	// hundredths of a second.
	const schedulerClock = 2
	clock := int32(^p.PID<<3 | schedulerClock)
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("read the processor time of %s: %w", p.Name, err)
	}
	return time.Duration(t.Nano()), nil
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

// Memory returns the memory use of the program. Mapped counts the files below dir.
func (p Process) Memory(dir string) (Memory, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Memory{}, fmt.Errorf("resolve the directory of %s: %w", p.Name, err)
	}
	proc, err := procfs.NewProc(p.PID)
	if err != nil {
		return Memory{}, fmt.Errorf("read the memory of %s: %w", p.Name, err)
	}
	status, statusErr := proc.NewStatus()
	maps, err := proc.ProcMaps()
	if err := errors.Join(statusErr, err); err != nil {
		return Memory{}, fmt.Errorf("read the memory of %s: %w", p.Name, err)
	}
	m := Memory{Resident: int64(status.VmRSS), Anonymous: int64(status.RssAnon), File: int64(status.RssFile)}
	m.count(maps, dir)
	return m, nil
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
func DiskUsage(dir string) (int64, error) {
	total := int64(0)
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
		return 0, fmt.Errorf("measure %s: %w", filepath.Base(dir), err)
	}
	return total, nil
}
