package process

import (
	"bufio"
	"context"
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

	. "github.com/onsi/gomega"
)

// asParent makes the test binary start a child that waits. The binary prints the child's PID, and then waits until it is killed.
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
	SetDefaultEventuallyTimeout(20 * time.Second)
	os.Exit(m.Run())
}

// gone reports whether the process with the PID has ended. A zombie counts as ended.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Spec{
		Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "logs", "script.log"), Grace: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func TestErrShowsTheLog(t *testing.T) {
	p := start(t, "echo first; echo broken >&2; exit 3")
	<-p.Done()
	err := p.Err()
	for _, want := range []string{"script ended", "exit status 3", "  first\n  broken"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Err() = %v, want it to say %q", err, want)
		}
	}
}

func TestStopKillsWhatIgnoresTheSignal(t *testing.T) {
	g := NewWithT(t)
	p := start(t, `trap "" TERM; sleep 600 & echo $!; wait`)
	var grandchild int
	g.Eventually(func() int {
		text, _ := os.ReadFile(p.spec.Log)
		grandchild, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return grandchild
	}).Should(BeNumerically(">", 0))
	g.Expect(p.Err()).To(Succeed())
	p.Stop()
	g.Expect(gone(p.pid)).To(BeTrue(), "the script still runs")
	g.Eventually(gone).WithArguments(grandchild).Should(BeTrue(), "the script's child lives on")
}

func TestChildrenDoNotOutliveAKilledParent(t *testing.T) {
	g := NewWithT(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"="+filepath.Join(t.TempDir(), "child.log"))
	out, err := parent.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parent.Start()).To(Succeed())
	line, err := bufio.NewReader(out).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	child, err := strconv.Atoi(strings.TrimSpace(line))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(gone(child)).To(BeFalse(), "the child ended before its parent")
	g.Expect(parent.Process.Kill()).To(Succeed())
	_ = parent.Wait()
	g.Eventually(gone).WithArguments(child).Should(BeTrue())
}

func TestLeashedPassesArgumentsAndStatus(t *testing.T) {
	dir := t.TempDir()
	program, script := filepath.Join(dir, "it's a program"), filepath.Join(dir, "script")
	for file, text := range map[string]string{program: "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 3\n", script: Leashed(dir, program)} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(script, "--a=b c", "$HOME")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := cmd.Output() // Output returns only after all background processes have closed the output
	if string(output) != "<--a=b c><$HOME>" || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("the program got %s and exited with %v, want status 3", output, err)
	}
}

func TestGroup(t *testing.T) {
	g := NewWithT(t)
	var group Group
	first := start(t, "exec sleep 600")
	group.Add(first)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(group.Wait(ctx)).To(Succeed(), "while all run")
	second := start(t, "exit 3")
	group.Add(second)
	g.Expect(group.Wait(t.Context())).To(MatchError(ContainSubstring("exit status 3")))
	g.Expect(first.Err()).To(Succeed())
	group.Stop()
	g.Expect(first.Done()).To(BeClosed())
	g.Expect(group.Err()).To(Succeed())
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

func TestQuoteIsReadBackByAShell(t *testing.T) {
	for _, word := range []string{"/plain/path-1.2", "with space", "it's", `$HOME "and" \back`, "*", ""} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+Quote(word)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if string(out) != word {
			t.Errorf("Quote(%q) = %s, which a shell reads as %q", word, Quote(word), out)
		}
	}
}
