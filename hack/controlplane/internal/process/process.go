// Package process starts the programs of a local run and leaves none of them behind.
//
// Every child is the leader of a process group of its own, so that a Ctrl-C on the terminal reaches the program that
// started it and not the child: the order of stopping is ours. A child does not outlive its parent, not even one that
// was killed with -9: on Linux the kernel sees to it, elsewhere a watcher does.
//
// It imports the standard library alone and knows nothing about what it starts.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Spec describes a program to start.
type Spec struct {
	// Name stands in messages.
	Name string
	// Path is the program, Args its arguments without the name.
	Path string
	Args []string
	// Dir is its working directory; "" means the caller's.
	Dir string
	// Env is added to the environment of the caller.
	Env []string
	// Log is the file that receives its output; it is begun anew.
	Log string
}

// Process is a started program.
type Process struct {
	// Name is Spec.Name, Log is Spec.Log.
	Name, Log string

	pid     int
	done    chan struct{}
	err     error
	release func()
}

// Start starts a program. Its output goes to spec.Log.
func Start(spec Spec) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the log of %s: %w", spec.Name, err)
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
	}
	cmd := exec.Command(spec.Path, spec.Args...) //nolint:noctx // its end is Stop, in an order; a cancelled context would kill all at once
	cmd.Dir = spec.Dir
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = groupAttr()

	p := &Process{Name: spec.Name, Log: spec.Log, done: make(chan struct{}), release: func() {}}
	started := make(chan error)
	go func() {
		// The parent-death signal of Linux is tied to the thread that forked, not to the process: the thread has to stay
		// for as long as the child does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		if err := cmd.Start(); err != nil {
			started <- fmt.Errorf("start %s: %w", spec.Name, err)
			return
		}
		started <- nil
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	if runtime.GOOS != "linux" {
		release, err := watchGroup(p.pid)
		if err != nil {
			p.Stop(0)
			return nil, fmt.Errorf("start the watcher of %s: %w", spec.Name, err)
		}
		p.release = release
	}
	return p, nil
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended returns nil while the program runs, and afterwards an error with its exit status and the end of its log.
func (p *Process) Ended() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	status := "exit status 0"
	if p.err != nil {
		status = p.err.Error()
	}
	return fmt.Errorf("%s ended: %s; the end of %s:\n%s", p.Name, status, p.Log, p.Tail(15))
}

// Stop asks the program to end, and kills its process group when it has not after grace. It returns when it is gone.
func (p *Process) Stop(grace time.Duration) {
	defer p.release()
	if grace > 0 {
		_ = syscall.Kill(-p.pid, syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(grace):
		}
	}
	// Also after a clean end: what the program itself started goes with it. An empty group is no error here.
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	<-p.done
}

// Tail returns the last lines of the log, each indented.
func (p *Process) Tail(lines int) string { return Tail(p.Log, lines) }

// Tail returns the last lines of a file, each indented, or why they cannot be read.
func Tail(file string, lines int) string {
	const most = 64 << 10 // enough for any tail worth showing; logs can be long
	f, err := os.Open(file)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	text := make([]byte, min(info.Size(), most))
	if _, err := f.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return "  (" + err.Error() + ")"
	}
	trimmed := strings.TrimRight(string(text), "\n")
	if trimmed == "" {
		return "  (empty)"
	}
	all := strings.Split(trimmed, "\n")
	return "  " + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}

// ErrParentGone is the cause of a context of WithParent whose parent process has ended.
var ErrParentGone = errors.New("the parent process has ended")

// WithParent returns a context that ends, with ErrParentGone as its cause, when the parent of this process does: a make
// that was killed takes down what it started.
func WithParent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	parent := os.Getppid()
	go func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if os.Getppid() != parent {
					cancel(ErrParentGone)
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
