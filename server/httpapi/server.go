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
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/server/feed"
	"github.com/vitrine-dev/vitrine/server/jsongzip"
	"github.com/vitrine-dev/vitrine/server/library"
)

// DefaultPageCache is the default of Options.PageCache, in bytes.
const DefaultPageCache = 128 << 20

// Options configures a Server. The zero value contains the defaults.
type Options struct {
	// Clock returns the current time for token expiry, rate limits and cache times. Default: time.Now.
	Clock func() time.Time
	// Logger receives a line for each request and each failure. Default: nothing is logged.
	Logger *slog.Logger
	// ExternalURL is the absolute URL under which callers reach the server, without a trailing slash. The path of this URL is the prefix of
	// every link. The externalURL of a property takes precedence. Default: links are paths from the root.
	ExternalURL string
	// Metrics is the registry for request metrics. Default: none.
	Metrics prometheus.Registerer
	// Version is the version of the server for the header Server. Default: the header is omitted.
	Version string
	// QueryBudget is the maximum duration of an ad-hoc query. Default: 2 s.
	QueryBudget time.Duration
	// QueriesPerToken is the maximum number of concurrent ad-hoc queries and exports of one token. Default: 8.
	QueriesPerToken int
	// WaitsPerToken is the maximum number of requests of one token that wait for changes at a time. Default: 100.
	WaitsPerToken int
	// StreamsPerToken is the maximum number of streams of events that one token has open. Default: 1000.
	StreamsPerToken int
	// StreamIdle is the maximum time that a bulk import waits for the client to send, or that a stream waits for the client to receive. A
	// stream of events waits up to twice this time. Default: 1 min.
	StreamIdle time.Duration
	// PageCache is the size of the page cache in bytes. Default: DefaultPageCache.
	PageCache int64
	// PageMemory is the maximum memory in bytes for pages of items that are being built or sent, not counting the page cache. Default: 1
	// GiB.
	PageMemory int64
	// Pressure returns the level of memory pressure. The server caches pages only at library.Relaxed. Default: always library.Relaxed.
	Pressure func() library.Pressure
	// Rejected lists the objects of a property whose condition Ready is False. It returns false if the objects are unknown at the moment.
	// It must only read memory. Default: the objects are never known.
	Rejected func(context.Context, library.PropertyID) ([]library.Rejection, bool, error)
	// Manifest returns the object of a property that declares a definition. Its error wraps library.ErrNotFound if there is no such object,
	// and otherwise library.ErrUnavailable. nil means that the server follows no manifests.
	Manifest func(context.Context, library.PropertyID, library.Owner) (library.Manifest, error)
	// Rand is the source of random bytes for seeds and filter ids. Default: crypto/rand.
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
	o.WaitsPerToken = cmp.Or(o.WaitsPerToken, 100)
	o.StreamsPerToken = cmp.Or(o.StreamsPerToken, 1000)
	o.StreamIdle = cmp.Or(o.StreamIdle, time.Minute)
	o.PageCache = cmp.Or(o.PageCache, DefaultPageCache)
	o.PageMemory = cmp.Or(o.PageMemory, 1<<30)
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
	feed    *feed.Feed
	options Options
	mux     *http.ServeMux
	tokens  tokenTable
	scopes  scopes
	permits permits
	gzip    gzipPool
	// pageGzip compresses pages of many items faster than gzip. Its results are longer, and for other bodies much longer.
	pageGzip jsongzip.Compressor
	scratch  scratch
	pages    *pageCache
	tags     feed.Tags
	// sending is the number of bytes of pages that are being built or sent.
	sending atomic.Int64
	metrics *metrics
	// slow is true if the last write of an import was slow.
	slow atomic.Bool
	// draining is true when Drain was called.
	draining atomic.Bool
	// name is the value of the header Server.
	name string
	// noToken writes the lines of the access log for requests without a grant: their token is missing or refused, or was not checked.
	noToken slog.Handler
}

// New returns a server for lib. Until Run has loaded the library's tokens, the server answers with status 503. New fails if ExternalURL is
// not a valid URL, or if the metrics are already registered.
func New(lib library.Library, o Options) (*Server, error) {
	o = o.withDefaults()
	if err := library.CheckExternalURL(o.ExternalURL); err != nil {
		return nil, fmt.Errorf("external URL: %w", err)
	}
	log := o.Logger.Handler()
	s := &Server{lib: lib, options: o, name: "vitrine/" + o.Version, tokens: tokenTable{log: log}, noToken: accessLog(log, "", ""), tags: feed.NewTags(lib.AuthorKey())}
	s.permits.held = map[permitKey]*permit{}
	var err error
	if s.feed, err = feed.New(lib, o.Clock, o.Rand); err != nil {
		return nil, err
	}
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

// retryTokens is the delay before Run retries after a failure of the token feed.
const retryTokens = 250 * time.Millisecond

// Run loads the library's tokens and follows their changes. It returns nil when ctx ends, and an error that wraps library.ErrClosed when
// the library closes. Call it exactly once for each server.
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
		// Keep the known tokens valid, because a brief failure of the library's feed must not lock out all callers.
		s.options.Logger.ErrorContext(ctx, "cannot follow changes to tokens; retrying", "error", err)
		retry := time.NewTimer(retryTokens)
		select {
		case <-ctx.Done():
			retry.Stop()
			return nil
		case <-retry.C:
		}
	}
}

// Drain ends all requests that wait for changes: they get the response that they would get at the end of their wait. Later requests do not
// wait. Call it when the process begins to stop.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.feed.Stop()
}

// Ready reports whether all tokens are loaded. Before that, the server might refuse a valid token.
func (s *Server) Ready() bool { return s.tokens.synced() }
