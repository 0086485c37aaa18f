package main

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// cgroupLimitFiles are where a container's memory limit stands: cgroup v2, then v1.
var cgroupLimitFiles = [...]string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// memoryLimit returns how many bytes the heap should stay below: the flag's, else 80 % of the container's limit, else 0 for
// none. GOMEMLIMIT in the environment counts as no flag and is left to the runtime.
func memoryLimit(flag string, readFile func(string) ([]byte, error)) (int64, error) {
	if flag != "" {
		q, err := resource.ParseQuantity(flag)
		if err != nil || q.Value() < 64<<20 {
			return 0, usagef("--memory-limit %q: want at least 64Mi, in the notation of Kubernetes, such as 512Mi", flag)
		}
		return q.Value(), nil
	}
	for _, file := range cgroupLimitFiles {
		content, err := readFile(file)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
		if err != nil || n > math.MaxInt64/2 { // "max", and how v1 says the same
			continue
		}
		return n / 5 * 4, nil
	}
	return 0, nil
}

// limitMemory has the garbage collector keep the heap below the limit.
func limitMemory(flag string, log *slog.Logger) error {
	if flag == "" && os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	n, err := memoryLimit(flag, os.ReadFile)
	if err != nil || n == 0 {
		return err
	}
	debug.SetMemoryLimit(n)
	log.Info("memory limit set", "bytes", n)
	return nil
}
