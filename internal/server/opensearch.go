package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch"
	"github.com/vitrine-dev/vitrine/server/store"
)

// The values of --library.
const (
	LibraryEngine     = "engine"
	LibraryOpenSearch = "opensearch"
)

// OpenSearch is the flags of serve and migrate for the OpenSearch cluster.
type OpenSearch struct {
	URLs                               []string
	usernameFile, passwordFile, caFile string
	allowPlaintext                     bool
	prefix                             string
	readTimeout                        time.Duration
}

// Bind declares the flags.
func (f *OpenSearch) Bind(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.URLs, "opensearch-url", nil, "https URLs of nodes of the OpenSearch cluster")
	fs.StringVar(&f.usernameFile, "opensearch-username-file", "", "file with the username for OpenSearch, read again when it changes")
	fs.StringVar(&f.passwordFile, "opensearch-password-file", "", "file with the password for OpenSearch, read again when it changes")
	fs.StringVar(&f.caFile, "opensearch-ca-file", "", "PEM file of CA certificates that verify OpenSearch, read again when it changes (default: the system's CA certificates)")
	fs.BoolVar(&f.allowPlaintext, "opensearch-allow-plaintext", false, "accept http URLs of OpenSearch that are not on loopback: items and credentials are sent unencrypted")
	fs.StringVar(&f.prefix, "opensearch-index-prefix", opensearch.DefaultPrefix, "prefix of every index name: installations with different prefixes can share a cluster")
	fs.DurationVar(&f.readTimeout, "opensearch-read-timeout", opensearch.DefaultReadTimeout, "time limit for one read of items, including all of its requests to OpenSearch, after which the caller gets 503; at most 1m")
}

// validate checks the flags. used is true if --library selects OpenSearch.
func (f *OpenSearch) validate(used bool) error {
	if !used {
		if len(f.URLs) > 0 || f.usernameFile != "" || f.passwordFile != "" || f.caFile != "" || f.allowPlaintext ||
			f.prefix != opensearch.DefaultPrefix || f.readTimeout != opensearch.DefaultReadTimeout {
			return exit.Usagef("the --opensearch flags need --library=%s", LibraryOpenSearch)
		}
		return nil
	}
	if len(f.URLs) == 0 {
		return exit.Usagef("--library=%s needs --opensearch-url", LibraryOpenSearch)
	}
	return f.Check()
}

// Check checks the flags for the connection to the cluster.
func (f *OpenSearch) Check() error {
	if (f.usernameFile == "") != (f.passwordFile == "") {
		return exit.Usagef("--opensearch-username-file and --opensearch-password-file must be set together")
	}
	if f.readTimeout == 0 { // reject 0, which package opensearch would replace with its default
		return exit.Usagef("--opensearch-read-timeout=0: must be longer than 0")
	}
	if err := f.options(nil).Check(); err != nil {
		return exit.Usagef("the --opensearch flags are not valid: %w", err)
	}
	return nil
}

func (f *OpenSearch) options(log *slog.Logger) opensearch.Options {
	return opensearch.Options{
		URLs: f.URLs, UsernameFile: f.usernameFile, PasswordFile: f.passwordFile, CAFile: f.caFile, AllowHTTP: f.allowPlaintext,
		Prefix: f.prefix, ReadTimeout: f.readTimeout, Logger: log,
	}
}

// forServer returns the flags with absolute paths, because the working directory of the server can differ from that of this command.
func (f *OpenSearch) forServer() (admin.OpenSearch, error) {
	to := admin.OpenSearch{
		URLs: f.URLs, UsernameFile: f.usernameFile, PasswordFile: f.passwordFile, CAFile: f.caFile, AllowHTTP: f.allowPlaintext, Prefix: f.prefix,
	}
	for _, file := range []*string{&to.UsernameFile, &to.PasswordFile, &to.CAFile} {
		if *file == "" {
			continue
		}
		path, err := filepath.Abs(*file)
		if err == nil {
			_, err = os.Stat(path) // here, because the server would return the error without its type
		}
		if err != nil {
			return to, err
		}
		*file = path
	}
	return to, nil
}

// lockedLibrary is a library together with the lock of the data directory of its process.
type lockedLibrary struct {
	*opensearch.Library
	lock io.Closer
}

// Close closes the library and releases the lock.
func (l lockedLibrary) Close() error { return errors.Join(l.Library.Close(), l.lock.Close()) }

// open locks the data directory, which contains the admin socket and certificates, and opens the library. While the cluster is unreachable,
// open waits for it. It returns any other error immediately.
func (f *OpenSearch) open(ctx context.Context, of Options, pressure func() library.Pressure, log *slog.Logger) (library.Library, error) {
	if err := os.MkdirAll(of.DataDir, 0o700); err != nil {
		return nil, exit.With(exit.Store, fmt.Errorf("create the data directory: %w", err))
	}
	lock, err := store.LockDir(of.DataDir)
	if err != nil {
		return nil, exit.With(exit.Store, err)
	}
	log.Info("opening the library on OpenSearch", "urls", f.URLs, "prefix", f.prefix)
	var lib *opensearch.Library
	err = retry(ctx, of.probes, "store", log, func() (again bool, err error) {
		o := f.options(log)
		o.Pressure, o.JournalAge, o.JournalChanges = pressure, of.journalAge, of.journalChanges
		lib, err = opensearch.Open(ctx, o)
		return errors.Is(err, library.ErrUnavailable), err
	})
	if err != nil {
		return nil, exit.With(exit.Store, errors.Join(fmt.Errorf("open the library on OpenSearch: %w", err), lock.Close()))
	}
	return lockedLibrary{lib, lock}, nil
}
