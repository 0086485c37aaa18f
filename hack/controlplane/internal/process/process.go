//go:build unix

// Package process starts the programs of a local run. No program outlives this process, even if this process is killed with SIGKILL. Each
// program leads its own process group, which also contains a shell that kills the group after this process has ended. Therefore, Ctrl-C on
// the terminal reaches only this process, which stops its programs in order.
//
// The package imports only the standard library and has no knowledge of the programs.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// leash returns the beginning of a shell script; the rest of the script executes a program. Until the program ends, the returned part
// checks every second, in the background, whether this process is alive. If not, it kills the process group. The script contains the PID of
// this process instead of $PPID, because $PPID is wrong if this process ends before the shell starts.
func leash() string {
	return fmt.Sprintf(`(while kill -0 "$$"; do kill -0 %d || kill -s KILL -- "-$$"; sleep 1; done) >/dev/null 2>&1 &
`, os.Getpid())
}

// Leashed returns a shell script that executes the program at path in the directory dir with the script's arguments. The caller
// must make the script the leader of a process group. The program is killed within about a second after this process has ended.
func Leashed(dir, path string) string {
	return "#!/bin/sh\n" + leash() + "cd " + Quote(dir) + " && exec " + Quote(path) + ` "$@"` + "\n"
}

// Spec describes a program to start.
type Spec struct {
	// Name is the name of the program in messages.
	Name string
	// Path is the path of the program. Args contains its arguments, without the program name.
	Path string
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Log is the file for the output. Start truncates it first.
	Log string
	// Grace is the time that Stop waits after SIGTERM before it sends SIGKILL; 0 means 10 s.
	Grace time.Duration
}

// Process is a started program.
type Process struct {
	spec Spec
	pid  int
	done chan struct{}
	err  error // the reason why the program ended; set before done is closed
}

// Start starts a program.
func Start(spec Spec) (*Process, error) {
	if spec.Grace == 0 {
		spec.Grace = 10 * time.Second
	}
	log, err := CreateLog(spec.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", leash() + `exec "$0" "$@"`, spec.Path}, spec.Args...)...) //nolint:noctx // no context: Stop sends SIGTERM first
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	p := &Process{spec: spec, pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Done returns a channel that is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns nil while the program runs. Afterwards, it returns the exit status and the end of the log.
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	status := "exit status 0"
	if p.err != nil {
		status = p.err.Error()
	}
	return fmt.Errorf("%s ended: %s\nThe end of %s:\n%s", p.spec.Name, status, p.spec.Log, Tail(p.spec.Log, 15))
}

// Stop sends SIGTERM to the program's process group, and SIGKILL if the program does not end within its grace period. It returns
// when the program has ended.
func (p *Process) Stop() {
	_ = syscall.Kill(-p.pid, syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(p.spec.Grace):
	}
	// Kill the process group even if the program itself has ended, because the program may have started other programs. If the group is
	// empty, the call has no effect.
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	<-p.done
}

// CreateLog creates or truncates a log file, and creates its directory.
func CreateLog(file string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("create the directory for a log: %w", err)
	}
	log, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a log: %w", err)
	}
	return log, nil
}

// Tail returns the last lines of a file, indented, or the reason why it cannot be read.
func Tail(file string, lines int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return "  " + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}

// Quote quotes a word for a POSIX shell if necessary.
func Quote(word string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/._-+:=@%", r) || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ErrParentGone is the cause of a context from WithParent whose parent process has ended.
var ErrParentGone = errors.New("the parent process has ended")

// WithParent returns a context that ends with ErrParentGone when the parent of this process ends. A program that make has started can use
// this context to end when make is killed.
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
