package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// build builds the operator.
func build(ctx context.Context, root, binary string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "./cmd/vitrine")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build the operator: %w", err)
	}
	return nil
}

// server is one running operator.
type server struct {
	cmd                   *exec.Cmd
	log                   *os.File
	began                 time.Time
	http, probes, metrics string // addresses
	debug                 string // another
	// client keeps connections open, as an app does.
	client *http.Client
}

// startServer starts the operator on a data directory; it does not wait.
func startServer(ctx context.Context, binary, kubeconfig, dataDir string, namespaces []string) (*server, error) {
	addresses, err := freeAddresses(ctx, 5)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(filepath.Dir(dataDir), "vitrine.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	s := &server{
		log: log, began: time.Now(), http: addresses[0], probes: addresses[1], metrics: addresses[2], debug: addresses[4],
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 30 * time.Second},
	}
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), binary, "serve", "--kubeconfig", kubeconfig, "--data-dir", dataDir,
		"--watch-namespaces", strings.Join(namespaces, ","), "--http-bind-address", s.http, "--https-bind-address", addresses[3],
		"--health-probe-bind-address", s.probes, "--metrics-bind-address", s.metrics, "--debug-bind-address", s.debug,
		"--log-level", "warn")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	// It ends with us, whatever ends us.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the operator: %w", err), log.Close())
	}
	return s, nil
}

// freeAddresses finds ports that nobody listens on.
func freeAddresses(ctx context.Context, n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		out[i] = l.Addr().String()
	}
	return out, nil
}

// ready waits until /readyz says so, and returns how long that took since the start.
func (s *server) ready(ctx context.Context) (time.Duration, error) {
	for {
		if code, _, err := s.get(ctx, "http://"+s.probes+"/readyz", ""); err == nil && code == http.StatusOK {
			return time.Since(s.began), nil
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return 0, err
		}
		if time.Since(s.began) > 2*time.Minute {
			return 0, fmt.Errorf("the operator is not ready after 2 minutes: see %s", s.log.Name())
		}
	}
}

// stop ends the operator as a kubelet does.
func (s *server) stop() error {
	defer s.log.Close()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the operator: %w", err)
	}
	return s.cmd.Wait()
}

// cpu returns the processor time that the operator has used.
func (s *server) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The second field is the name, in brackets, and may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	const ticksPerSecond = 100 // of every Linux that Go runs on
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// metric returns the sum of a metric over all its labels.
func (s *server) metric(ctx context.Context, name string) (float64, error) {
	_, text, err := s.get(ctx, "http://"+s.metrics+"/metrics", "")
	if err != nil {
		return 0, err
	}
	sum, found := 0.0, false
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' ')+1:]), 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum += value
		found = true
	}
	if !found {
		return 0, fmt.Errorf("the operator has no metric %s", name)
	}
	return sum, nil
}

// collect has the operator collect its garbage.
func (s *server) collect(ctx context.Context) error {
	code, _, err := s.get(ctx, "http://"+s.debug+"/debug/pprof/heap?gc=1", "")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("status %d", code)
	}
	if err != nil {
		return fmt.Errorf("have the operator collect its garbage: %w", err)
	}
	return nil
}

func (s *server) get(ctx context.Context, url, token string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
