package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asParent makes the test binary the parent of a child that waits: it prints the child's id and waits for its own end.
const asParent = "PROCESS_TEST_PARENT"

func TestMain(m *testing.M) {
	if log := os.Getenv(asParent); log != "" {
		p, err := Start(Spec{Name: "child", Path: "/bin/sh", Args: []string{"-c", "echo started; exec sleep 600"}, Log: log})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(p.pid)
		<-p.Done()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// eventually waits for done, for at most ten seconds.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

// gone reports whether no process has that id, or only the remains of one that nobody has waited for.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Spec{Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "logs", "script.log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p
}

func TestEndedShowsTheLog(t *testing.T) {
	p := start(t, "echo first; echo broken >&2; exit 3")
	<-p.Done()
	err := p.Ended()
	for _, want := range []string{"script ended", "exit status 3", "  first\n  broken"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Ended() = %v, want it to say %q", err, want)
		}
	}
}

func TestStopKillsWhatIgnoresTheSignal(t *testing.T) {
	p := start(t, `trap "" TERM; sleep 600 & echo $!; wait`)
	var grandchild int
	eventually(t, "the script's child", func() bool {
		text, _ := os.ReadFile(p.Log)
		grandchild, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return grandchild > 0
	})
	if err := p.Ended(); err != nil {
		t.Fatalf("ended before it was stopped: %v", err)
	}
	p.Stop(50 * time.Millisecond)
	if !gone(p.pid) {
		t.Error("the script lives on")
	}
	eventually(t, "the end of the script's child", func() bool { return gone(grandchild) })
}

func TestChildrenDoNotOutliveAKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"="+filepath.Join(t.TempDir(), "child.log"))
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if gone(child) {
		t.Fatal("the child is gone before its parent")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	eventually(t, "the end of the child", func() bool { return gone(child) })
}

func TestWatcherKillsTheGroupWhenItsPipeEnds(t *testing.T) {
	// As on systems without a parent-death signal, with the release that a normal stop does, and with the end of the
	// pipe that the end of the process is.
	released := start(t, "exec sleep 600")
	release, err := watchGroup(released.pid)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if gone(released.pid) {
		t.Error("a released watcher killed the group")
	}

	watched := start(t, "exec sleep 600")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	watcher := watcherCommand(watched.pid, reader)
	if err := watcher.Start(); err != nil {
		t.Fatal(err)
	}
	reader.Close()
	writer.Close()
	_ = watcher.Wait()
	eventually(t, "the end of the watched", func() bool { return gone(watched.pid) })
}

func TestLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "lock")
	unlock, err := TryLock(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(file); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v, want ErrLocked", err)
	}
	waiting := make(chan struct{})
	taken := make(chan error)
	go func() {
		unlock, err := Lock(t.Context(), file, func() { close(waiting) })
		if err == nil {
			unlock()
		}
		taken <- err
	}()
	<-waiting
	unlock()
	if err := <-taken; err != nil {
		t.Errorf("a lock that was waited for: %v", err)
	}
}

func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Tail(file, 2); got != "  b\n  c" {
		t.Errorf("Tail = %q, want the last two lines", got)
	}
	if got := Tail(file, 9); got != "  a\n  b\n  c" {
		t.Errorf("Tail = %q, want all lines", got)
	}
}
