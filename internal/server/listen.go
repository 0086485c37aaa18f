package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/httpapi"
)

// Timeouts that bound the cost of one connection. Streams (bulk import and export, backups) extend their own deadlines.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 90 * time.Second
	idleTimeout   = 2 * time.Minute
	// maxHeader is large enough for a URL with two queries of 16 KiB in which every byte is escaped.
	maxHeader = 128 << 10
)

// listener is one listening address of the process, with its HTTP server.
type listener struct {
	name   string
	net    net.Listener
	server *http.Server
	open   atomic.Int64 // number of open connections
}

// listen binds the address in a flag. A nil config means plain HTTP.
func listen(ctx context.Context, name, flag, address string, h http.Handler, config *tls.Config, log *slog.Logger) (*listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, exit.With(exit.Address, fmt.Errorf("--%s %s is in use by another process: stop that process, or choose another address", flag, address))
	}
	if err != nil {
		return nil, exit.With(exit.Address, fmt.Errorf("cannot listen on --%s %s: %w", flag, address, err))
	}
	log.Info("listening", "name", name, "address", l.Addr().String())
	return newListener(name, l, h, config, log), nil
}

func newListener(name string, l net.Listener, h http.Handler, config *tls.Config, log *slog.Logger) *listener {
	if config == nil {
		l = httpapi.JoinWrites(l)
	}
	made := &listener{name: name, net: l}
	made.server = &http.Server{
		Handler:           h,
		TLSConfig:         config,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       httpapi.JoinContext,
		// The errors that net/http logs are caused by clients, such as failed TLS handshakes.
		ErrorLog: slog.NewLogLogger(log.With("listener", name).Handler(), slog.LevelDebug),
		ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				made.open.Add(1)
			case http.StateClosed, http.StateHijacked:
				made.open.Add(-1)
			}
		},
	}
	return made
}

// serve serves requests until the listener is drained or closed.
func (l *listener) serve() error {
	var err error
	if l.server.TLSConfig != nil {
		err = l.server.ServeTLS(l.net, "", "")
	} else {
		err = l.server.Serve(l.net)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", l.name, err)
}

// drain refuses new requests and waits for the requests in progress. When ctx ends, it closes the connections of these requests.
func (l *listener) drain(ctx context.Context) error {
	err := l.server.Shutdown(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("requests to the %s listener were cut off: %w", l.name, err), l.server.Close())
	}
	return nil
}
