package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// The minimum and the maximum pause between two attempts of retry.
const (
	firstRetry = time.Second
	lastRetry  = 15 * time.Second
)

// retry calls try until try succeeds or returns false for again, or until ctx ends. From the first failure on, the probes report that the
// process is alive but not ready, and name the part for which the process waits and the reason.
func retry(ctx context.Context, probes, part string, log *slog.Logger, try func() (again bool, err error)) (err error) {
	again, err := try()
	if err == nil || !again {
		return err
	}
	var why atomic.Value // holds a string
	if probes != "" {
		meanwhile, failed := listen(ctx, "waiting", "health-probe-bind-address", probes, waitingProbes(part, &why), nil, log)
		if failed != nil {
			return failed
		}
		served := make(chan error, 1)
		go func() { served <- meanwhile.serve() }()
		// Close the listener at the end, because the listener of the server's own probes binds the same address later.
		defer func() {
			err = errors.Join(err, meanwhile.server.Close(), <-served)
		}()
	}
	for pause := firstRetry; again; pause = min(2*pause, lastRetry) {
		why.Store(err.Error())
		log.Warn("cannot start yet", "part", part, "error", err, "retry", pause)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		again, err = try()
	}
	return err
}

// waitingProbes serves /readyz and /healthz while the process waits for a part.
func waitingProbes(part string, why *atomic.Value) http.Handler {
	mux := http.NewServeMux()
	answer := func(status int, word string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			answerProbe(w, status, fmt.Sprintf("%s\n[-] %s: %v\n", word, part, why.Load()))
		}
	}
	mux.HandleFunc("GET /readyz", answer(http.StatusServiceUnavailable, "not ready"))
	mux.HandleFunc("GET /healthz", answer(http.StatusOK, "alive"))
	return mux
}
