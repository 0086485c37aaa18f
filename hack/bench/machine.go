package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/vitrine-dev/vitrine/hack/bench/report"
)

// surroundings returns the machine and the versions of the subjects.
func surroundings(ctx context.Context, binary string) (report.Machine, map[string]string, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return report.Machine{}, nil, fmt.Errorf("describe the machine: %w", err)
	}
	processors, cpuErr := proc.CPUInfo()
	memory, err := proc.Meminfo()
	if err := errors.Join(cpuErr, err); err != nil {
		return report.Machine{}, nil, fmt.Errorf("describe the machine: %w", err)
	}
	if len(processors) == 0 || memory.MemTotalBytes == nil {
		return report.Machine{}, nil, errors.New("describe the machine: /proc names no processor or no memory")
	}
	m := report.Machine{Cores: runtime.NumCPU(), Processor: cmp.Or(processors[0].ModelName, "unknown"), MemoryGiB: float64(*memory.MemTotalBytes) / (1 << 30)}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel, _, _ = strings.Cut(strings.TrimSpace(string(text)), "-")
	}
	versions := map[string]string{"Go": strings.TrimPrefix(runtime.Version(), "go")}
	// Prefer the version from git describe, because the binary does not know its version if it was built without one.
	out, err := exec.CommandContext(ctx, "git", "-C", "../..", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		if out, err = exec.CommandContext(ctx, binary, "version").Output(); err != nil {
			return m, nil, fmt.Errorf("read the version of vitrine: %w", err)
		}
	}
	first, _, _ := strings.Cut(string(out), "\n")
	versions[report.Vitrine] = strings.TrimSpace(strings.TrimPrefix(first, "vitrine"))
	return m, versions, nil
}
