package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch"
	"github.com/vitrine-dev/vitrine/server/store"
)

// opensearchFlags are the flags of serve for the cluster that stores the items with --library=opensearch.
type opensearchFlags struct {
	urls                               []string
	usernameFile, passwordFile, caFile string
	allowPlaintext                     bool
	prefix                             string
}

func (f *opensearchFlags) bind(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.urls, "opensearch-url", nil, "https URLs of nodes of the OpenSearch cluster")
	fs.StringVar(&f.usernameFile, "opensearch-username-file", "", "file with the username for OpenSearch, read again when it changes")
	fs.StringVar(&f.passwordFile, "opensearch-password-file", "", "file with the password for OpenSearch, read again when it changes")
	fs.StringVar(&f.caFile, "opensearch-ca-file", "", "certificates in PEM to verify OpenSearch with, read again when they change (default those of the system)")
	fs.BoolVar(&f.allowPlaintext, "opensearch-allow-plaintext", false, "accept http URLs of OpenSearch that are not on loopback: items and credentials are sent unencrypted")
	fs.StringVar(&f.prefix, "opensearch-index-prefix", opensearch.DefaultPrefix, "prefix of every index name: installations with different prefixes can share a cluster")
}

// validate checks the flags. used is true if the library is the one on OpenSearch.
func (f *opensearchFlags) validate(used bool) error {
	if !used {
		if len(f.urls) > 0 || f.usernameFile != "" || f.passwordFile != "" || f.caFile != "" || f.allowPlaintext || f.prefix != opensearch.DefaultPrefix {
			return usagef("the flags of OpenSearch need --library=%s", libraryOpenSearch)
		}
		return nil
	}
	if len(f.urls) == 0 {
		return usagef("--library=%s needs --opensearch-url", libraryOpenSearch)
	}
	if (f.usernameFile == "") != (f.passwordFile == "") {
		return usagef("--opensearch-username-file and --opensearch-password-file need each other")
	}
	if err := f.options(nil).Check(); err != nil {
		return usagef("the flags of OpenSearch: %w", err)
	}
	return nil
}

func (f *opensearchFlags) options(log *slog.Logger) opensearch.Options {
	return opensearch.Options{
		URLs: f.urls, UsernameFile: f.usernameFile, PasswordFile: f.passwordFile, CAFile: f.caFile, AllowHTTP: f.allowPlaintext,
		Prefix: f.prefix, Logger: log,
	}
}

// Minimum and maximum pause between two attempts to open the library on an unreachable cluster.
const (
	firstReach = time.Second
	lastReach  = 15 * time.Second
)

// open opens the library. While the cluster is unreachable, open retries, and the probes respond that the process is alive but not
// ready, with the cause. open returns every other error.
func (f *opensearchFlags) open(ctx context.Context, probes string, log *slog.Logger) (library.Library, error) {
	log.Info("opening the library on OpenSearch", "urls", f.urls, "prefix", f.prefix)
	options := f.options(log.With("part", "store"))
	lib, err := opensearch.Open(ctx, options)
	if errors.Is(err, library.ErrUnavailable) {
		lib, err = f.wait(ctx, options, err, probes, log)
	}
	if err != nil {
		return nil, &codedError{exitStore, fmt.Errorf("open the library on OpenSearch: %w", err)}
	}
	return lib, nil
}

// wait retries to open the library until that succeeds, ctx ends, or it fails for another reason than an unavailable cluster.
func (f *opensearchFlags) wait(ctx context.Context, o opensearch.Options, cause error, probes string, log *slog.Logger) (lib *opensearch.Library, err error) {
	var why atomic.Value // holds a string
	if probes != "" {
		meanwhile, failed := listen(ctx, "waiting", "health-probe-bind-address", probes, waitingProbes(&why), nil, log)
		if failed != nil {
			return nil, failed
		}
		served := make(chan error, 1)
		go func() { served <- meanwhile.serve() }()
		// The probes of the whole process bind the same address later.
		defer func() {
			err = errors.Join(err, meanwhile.server.Close(), <-served)
		}()
	}
	for pause := firstReach; ; pause = min(2*pause, lastReach) {
		why.Store(cause.Error())
		log.Warn("OpenSearch cannot be used yet", "error", cause, "retry", pause)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
		if lib, cause = opensearch.Open(ctx, o); !errors.Is(cause, library.ErrUnavailable) {
			return lib, cause
		}
	}
}

// waitingProbes serves /readyz and /healthz of a process that waits for its cluster.
func waitingProbes(why *atomic.Value) http.Handler {
	mux := http.NewServeMux()
	answer := func(status int, word string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(status)
			fmt.Fprintf(w, "%s\n[-] store: %v\n", word, why.Load())
		}
	}
	mux.HandleFunc("GET /readyz", answer(http.StatusServiceUnavailable, "not ready"))
	mux.HandleFunc("GET /healthz", answer(http.StatusOK, "alive"))
	return mux
}

// lockDataDir creates the data directory and locks it against other processes. It contains the admin socket and the server's own
// authority, even if the items are elsewhere.
func lockDataDir(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &codedError{exitStore, fmt.Errorf("make the data directory: %w", err)}
	}
	lock, err := store.LockDir(dir)
	if err != nil {
		return nil, &codedError{exitStore, err}
	}
	return lock, nil
}
