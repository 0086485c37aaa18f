package load

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed wrk.lua
var wrkScript []byte

// Wrk sends GET requests to one server with wrk (github.com/wg/wrk), which must be in PATH, for at most two seconds. It sends several URLs
// once each, and a single URL again and again. header is an additional header line, if it is not empty. A response with an error status is
// an error.
func Wrk(tb testing.TB, clients int, urls []string, header string) Result {
	tb.Helper()
	dir := tb.TempDir()
	script, list := filepath.Join(dir, "wrk.lua"), filepath.Join(dir, "urls")
	if err := os.WriteFile(script, wrkScript, 0o600); err != nil {
		tb.Fatal(err)
	}
	args := []string{"--threads", "1", "--connections", strconv.Itoa(clients), "--duration", "2s", "--script", script}
	if header != "" {
		args = append(args, "--header", header)
	}
	if len(urls) > 1 {
		if err := os.WriteFile(list, []byte(strings.Join(urls, "\n")), 0o600); err != nil {
			tb.Fatal(err)
		}
		args = append(args, urls[0], "--", list)
	} else {
		args = append(args, urls[0])
	}
	out, err := exec.CommandContext(tb.Context(), "wrk", args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("run wrk: %v\n%s", err, out)
	}
	var told struct {
		Requests, Failed int
		Seconds          float64
		Quantiles        []float64 // in microseconds
	}
	if err := json.Unmarshal(out[max(0, bytes.LastIndexByte(out, '{')):], &told); err != nil {
		tb.Fatalf("read the result of wrk: %v\n%s", err, out)
	}
	if told.Failed > 0 || told.Requests == 0 {
		tb.Fatalf("%d requests of wrk succeeded and %d failed", told.Requests, told.Failed)
	}
	r := Result{Requests: told.Requests, Elapsed: time.Duration(told.Seconds * float64(time.Second))}
	for _, q := range told.Quantiles {
		r.Quantiles = append(r.Quantiles, time.Duration(q*float64(time.Microsecond)))
	}
	return r
}
