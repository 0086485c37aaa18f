package main

import (
	"context"
	"errors"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
)

// restart repeatedly stops Vitrine, with SIGTERM or with SIGKILL, and starts it again. It measures the time from the start of each new
// process until that process is ready.
func (b *suite) restart(ctx context.Context) error {
	w := b.workload(report.Restarts, "Restart: from the start of the process until it is ready", "starts", 1, b.scale.items)
	after := func(name string, sig syscall.Signal) contender {
		return contender{name, func(int) (load.Result, error) {
			if err := errors.Join(b.stopVitrine(sig), b.startVitrine(ctx)); err != nil {
				return load.Result{}, err
			}
			spent, err := b.vitrine.CPU()
			return load.Result{Requests: 1, Elapsed: b.vitrine.Ready, CPU: spent}, err
		}}
	}
	return b.alternate(w, b.scale.restarts, after(report.Stopped, syscall.SIGTERM), after(report.Killed, syscall.SIGKILL))
}
