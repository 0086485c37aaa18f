package node

import (
	"os/exec"
	"strings"
	"testing"
)

// TestStopAfterCrash checks that, after a crash of the node, the error of Stop contains the reason for the crash.
func TestStopAfterCrash(t *testing.T) {
	n := &Node{process: exec.CommandContext(t.Context(), "cat"), done: make(chan error, 1)}
	var err error
	if n.input, err = n.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := n.process.Start(); err != nil {
		t.Fatal(err)
	}
	if err := n.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	n.done <- n.process.Wait()
	if err := n.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("%v; want the signal", err)
	}
}
