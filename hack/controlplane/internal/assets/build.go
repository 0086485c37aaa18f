package assets

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Go runs the go command in a directory, without cgo. what is the name of the step in progress reports: Go makes a report immediately, and
// again at every heartbeat until the command ends. With -v among args, the reports count the compiled packages.
func Go(ctx context.Context, opts Options, dir, what string, args ...string) error {
	opts = opts.withDefaults()
	opts.Progress("%s…", what)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// Build for this machine, with the versions of the module's go.mod.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS=", "GOARCH=")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var said messages
	cmd.Stderr = &said
	begin, ended := time.Now(), make(chan struct{})
	var beat sync.WaitGroup
	beat.Go(func() {
		tick := time.NewTicker(opts.Heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				downloaded, compiled, _ := said.read()
				opts.Progress("  still %s, %s (modules downloaded: %d, packages compiled: %d)", what, time.Since(begin).Round(time.Second), downloaded, compiled)
			}
		}
	})
	err := cmd.Run()
	close(ended)
	beat.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		_, _, rest := said.read()
		return fmt.Errorf("%s: %w\n%s", what, err, rest)
	}
	return nil
}

// messages collects the standard error of the go command.
type messages struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds a part of the output.
func (m *messages) Write(part []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.Write(part)
}

// read returns the numbers of lines about downloaded modules and about compiled packages, and the other lines.
func (m *messages) read() (downloaded, compiled int, rest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for line := range strings.Lines(m.text.String()) {
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			downloaded++
		case !strings.ContainsAny(line, " \t"): // an import path
			compiled++
		default:
			rest += line
		}
	}
	return downloaded, compiled, rest
}

// enough is the memory in bytes that two concurrent linkers need. The linker needs 2 GB for kube-apiserver.
const enough = 4 << 30

// available returns the available memory in bytes from the text of /proc/meminfo. It returns enough if the text does not contain
// it.
func available(meminfo string) int64 {
	var kilobytes int64
	_, rest, _ := strings.Cut(meminfo, "\nMemAvailable:")
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return enough
	}
	return kilobytes << 10
}
