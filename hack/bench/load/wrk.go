package load

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Wrk sends GET requests with wrk (github.com/wg/wrk), a client in C that uses less processor time than Client.
type Wrk struct {
	path, script, list string
}

// ErrNoWrk is returned if wrk is not installed.
var ErrNoWrk = errors.New("wrk is not in PATH")

//go:embed wrk.lua
var wrkScript []byte

// NewWrk finds wrk in PATH. It writes its files to dir. It returns ErrNoWrk if wrk is not installed.
func NewWrk(dir string) (*Wrk, error) {
	path, err := exec.LookPath("wrk")
	if err != nil {
		return nil, ErrNoWrk
	}
	w := &Wrk{path, filepath.Join(dir, "wrk.lua"), filepath.Join(dir, "wrk.urls")}
	if err := os.WriteFile(w.script, wrkScript, 0o600); err != nil {
		return nil, fmt.Errorf("write the script of wrk: %w", err)
	}
	return w, nil
}

// WrkPlan is one round of load.
type WrkPlan struct {
	// Clients is the number of concurrent requests.
	Clients int
	// URLs contains URLs of one server. Several URLs are requested once each; a single URL is requested until the round ends.
	URLs []*url.URL
	// Header is an additional header line, if it is not empty.
	Header string
	// Seconds is the length of a round with a single URL. For several URLs, it is the maximum time for all of them.
	Seconds int
	// CPU returns the total processor time of the server. If CPU is nil, processor time is not measured.
	CPU func() (time.Duration, error)
}

// Run runs one round. In the result, Bytes includes the headers, and Latencies is empty. A response with an error status is an error.
func (w *Wrk) Run(ctx context.Context, p WrkPlan) (Result, error) {
	args := []string{"--threads", "1", "--connections", strconv.Itoa(p.Clients), "--duration", fmt.Sprintf("%ds", p.Seconds), "--script", w.script}
	if p.Header != "" {
		args = append(args, "--header", p.Header)
	}
	args = append(args, p.URLs[0].String())
	if len(p.URLs) > 1 {
		var list bytes.Buffer
		for _, u := range p.URLs {
			fmt.Fprintln(&list, u.RequestURI())
		}
		if err := os.WriteFile(w.list, list.Bytes(), 0o600); err != nil {
			return Result{}, fmt.Errorf("write the URLs: %w", err)
		}
		args = append(args, "--", w.list)
	}
	cpu := p.CPU
	if cpu == nil {
		cpu = func() (time.Duration, error) { return 0, nil }
	}
	before, err := cpu()
	if err != nil {
		return Result{}, err
	}
	out, err := exec.CommandContext(ctx, w.path, args...).CombinedOutput()
	if err != nil {
		return Result{}, fmt.Errorf("run wrk: %w\n%s", err, out)
	}
	after, err := cpu()
	if err != nil {
		return Result{}, err
	}
	var told struct {
		Requests int
		Bytes    int64
		Seconds  float64
		Failed   int
	}
	if err := json.Unmarshal(out[max(0, bytes.LastIndexByte(out, '{')):], &told); err != nil {
		return Result{}, fmt.Errorf("read the result of wrk: %w\n%s", err, out)
	}
	if told.Failed > 0 || told.Requests == 0 {
		return Result{}, fmt.Errorf("%d requests to %s succeeded and %d failed", told.Requests, p.URLs[0].Path, told.Failed)
	}
	return Result{Requests: told.Requests, Bytes: told.Bytes, Elapsed: time.Duration(told.Seconds * float64(time.Second)), CPU: after - before}, nil
}
