package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Options say how to serve a library. The zero value works.
type Options struct {
	// Clock tells the time for the expiry of tokens, rate limits and cache times. Default time.Now.
	Clock func() time.Time
	// Logger gets a line for each request and each failure. Default: nothing is logged.
	Logger *slog.Logger
	// ExternalURL is the server's own address as callers see it, absolute, without a trailing slash; the externalURL of a
	// property beats it. Its path stands before every link. Default: links are paths from the root.
	ExternalURL string
	// Metrics is where request metrics are registered. Default: none are kept.
	Metrics prometheus.Registerer
	// Version is told in the header Server. Default: the header is left out.
	Version string
	// QueryBudget is how long a free query may take. Default 2 s.
	QueryBudget time.Duration
	// QueriesPerToken is how many free queries and exports of one token may run at a time. Default 8.
	QueriesPerToken int
	// StreamIdle is how long a bulk import may wait for its client to send, or a stream for it to receive. Default 1 min.
	StreamIdle time.Duration
	// PageCache is how many bytes of pages that are asked for again are kept ready to be sent. Default 64 MiB.
	PageCache int64
	// Pressure tells how short of memory the process is: unless it is library.Relaxed no pages are kept. Default relaxed.
	Pressure func() library.Pressure
	// Rand is where seeds and filter ids are drawn. Default crypto/rand.
	Rand io.Reader
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.ExternalURL = strings.TrimRight(o.ExternalURL, "/")
	o.QueryBudget = cmp.Or(o.QueryBudget, 2*time.Second)
	o.QueriesPerToken = cmp.Or(o.QueriesPerToken, 8)
	o.StreamIdle = cmp.Or(o.StreamIdle, time.Minute)
	o.PageCache = cmp.Or(o.PageCache, 64<<20)
	if o.Pressure == nil {
		o.Pressure = func() library.Pressure { return library.Relaxed }
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return o
}

// Server serves one library. It is safe for concurrent use.
type Server struct {
	lib     library.Library
	options Options
	mux     *http.ServeMux
	tokens  tokenTable
	gzip    gzipPool
	scratch scratch
	pages   *pageCache
	metrics *metrics
	// name is the header Server.
	name string
}

// New returns a server of lib. It answers 503 until Run has taken in the library's tokens. It fails on an ExternalURL that
// is no address and on metrics that are already registered.
func New(lib library.Library, o Options) (*Server, error) {
	o = o.withDefaults()
	if err := library.CheckExternalURL(o.ExternalURL); err != nil {
		return nil, fmt.Errorf("external URL: %w", err)
	}
	s := &Server{lib: lib, options: o, name: "vitrine/" + o.Version}
	var err error
	if s.pages, err = newPageCache(o.PageCache, o.Pressure); err != nil {
		return nil, err
	}
	if s.metrics, err = newMetrics(o.Metrics, s.pages); err != nil {
		return nil, err
	}
	if s.mux, err = s.newMux(); err != nil {
		return nil, err
	}
	return s, nil
}

// retryTokens is how long Run waits before it follows the tokens again after a failure.
const retryTokens = 250 * time.Millisecond

// Run takes in the library's tokens and every change of them until ctx ends, when it returns nil, or the library closes,
// when it returns an error that wraps library.ErrClosed. It has to run once for each server.
func (s *Server) Run(ctx context.Context) error {
	defer s.pages.close()
	for {
		err := s.tokens.follow(s.lib.Tokens(ctx))
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			return fmt.Errorf("follow tokens: %w", library.ErrClosed)
		case errors.Is(err, library.ErrClosed):
			return fmt.Errorf("follow tokens: %w", err)
		}
		// Those known so far stay in use: a library that cannot tell of changes for a moment must not lock everyone out.
		s.options.Logger.ErrorContext(ctx, "following tokens failed; starting again", "error", err)
		retry := time.NewTimer(retryTokens)
		select {
		case <-ctx.Done():
			retry.Stop()
			return nil
		case <-retry.C:
		}
	}
}

// Ready reports whether all tokens are known, so that a caller with a valid one is not turned away.
func (s *Server) Ready() bool { return s.tokens.synced() }
