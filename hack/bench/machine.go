package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/bench/report"
)

// surroundings describes the machine and what is compared.
func surroundings(ctx context.Context, binary string) (report.Machine, map[string]string, error) {
	m := report.Machine{Cores: runtime.NumCPU(), Processor: "unknown"}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range bytes.Lines(text) {
			if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "model name" {
				m.Processor = strings.TrimSpace(value)
				break
			}
		}
	}
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return m, nil, fmt.Errorf("ask for the memory: %w", err)
	}
	m.MemoryGiB = float64(info.Totalram) * float64(info.Unit) / (1 << 30)
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel, _, _ = strings.Cut(strings.TrimSpace(string(text)), "-")
	}
	versions := map[string]string{"Go": strings.TrimPrefix(runtime.Version(), "go")}
	// What git knows says more than a binary that was built without it.
	out, err := exec.CommandContext(ctx, "git", "-C", "../..", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		if out, err = exec.CommandContext(ctx, binary, "version").Output(); err != nil {
			return m, nil, fmt.Errorf("ask vitrine for its version: %w", err)
		}
	}
	first, _, _ := strings.Cut(string(out), "\n")
	versions[report.Vitrine] = strings.TrimSpace(strings.TrimPrefix(first, "vitrine"))
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, d := range build.Deps {
			if d.Path == "github.com/blevesearch/bleve/v2" {
				versions[report.Bleve] = strings.TrimPrefix(d.Version, "v")
			}
		}
	}
	return m, versions, nil
}
