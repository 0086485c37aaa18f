package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// plan returns the calls of go test for all packages of the modules: those of the first module that the patterns in race
// name go first, under the race detector if that runs on this machine. detector says whether it does, and is empty without
// patterns.
func plan(ctx context.Context, modules, race []string) (runs []run, detector string, err error) {
	if len(race) > 0 {
		first := modules[0]
		under, err := list(ctx, first, race...)
		if err != nil {
			return nil, "", err
		}
		all, err := list(ctx, first, "./...")
		if err != nil {
			return nil, "", err
		}
		if reason := noRace(ctx); reason != "" {
			detector = "RACE DETECTOR DID NOT RUN: " + reason
		} else {
			detector = fmt.Sprintf("race detector: on for %d of %d packages", len(under), len(all))
			runs = append(runs, run{module: first, packages: under, race: true})
			modules = modules[1:]
			if rest := slices.DeleteFunc(all, func(p string) bool { return slices.Contains(under, p) }); len(rest) > 0 {
				runs = append(runs, run{module: first, packages: rest})
			}
		}
	}
	for _, module := range modules {
		runs = append(runs, run{module: module, packages: []string{"./..."}})
	}
	return runs, detector, nil
}

// list returns the import paths of the packages that the patterns match in a module.
func list(ctx context.Context, module string, patterns ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"-C", module, "list"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages %s of %s: %w", strings.Join(patterns, " "), module, err)
	}
	return strings.Fields(string(out)), nil
}

// noRace says why the race detector cannot run here, "" when it can: it needs cgo, which needs a C compiler.
func noRace(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, "go", "build", "-race", "runtime/cgo")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Sprintf("%s (%v)", lines[len(lines)-1], err)
}
