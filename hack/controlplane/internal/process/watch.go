//go:build unix

package process

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watchGroup starts a shell that kills the process group when this process ends without having called release. It
// serves the systems that have no parent-death signal: the shell waits for a line from a pipe whose other end only this
// process holds, so the end of the pipe means the end of this process, however it came.
func watchGroup(group int) (release func(), err error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	cmd := watcherCommand(group, reader)
	if err := cmd.Start(); err != nil {
		writer.Close()
		return nil, err
	}
	return func() {
		_, _ = writer.WriteString("done\n")
		writer.Close()
		_ = cmd.Wait()
	}, nil
}

// watcherCommand is the shell, with the reading end of the pipe.
func watcherCommand(group int, reader *os.File) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", `read -r line && exit 0; kill -s KILL -- "-$0"`, strconv.Itoa(group)) //nolint:noctx // it ends with its pipe
	cmd.Stdin = reader
	// A group of its own: a Ctrl-C must not end the watcher before the watched.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}
