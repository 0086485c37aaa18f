// Package server assembles the content server and its operator from their parts: it opens the library, binds the addresses, starts and stops
// everything in order, and offers the operations on a running server. It also assembles the two ends of a migration. Only this package
// connects the parts with each other, so it may import each of them, but not the commands and not the reference library.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/memory"
	"github.com/vitrine-dev/vitrine/internal/servingcert"
	"github.com/vitrine-dev/vitrine/internal/version"
	"github.com/vitrine-dev/vitrine/server/console"
	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
	"github.com/vitrine-dev/vitrine/server/store/synced"
)

// process is a running server. The fields are in the order in which the parts start. The parts stop in reverse order.
type process struct {
	o        Options
	log      *slog.Logger
	memory   *memory.Gauge
	lib      library.Library
	api      *httpapi.Server
	operator *cluster.Supervisor // nil if the server runs without Kubernetes
	loaded   func() bool         // see health
	rejected func(context.Context, library.PropertyID) ([]library.Rejection, bool, error)
	manifest func(context.Context, library.PropertyID, library.Owner) (library.Manifest, error)
	health   *health
	metrics  prometheus.Registerer
	page     http.Handler // serves /metrics
	tls      *tls.Config
	caBundle []byte // nil if the user provides a certificate
	webhook  webhook
	// operations serves the admin socket.
	operations *operations
	// background contains the tasks that run until the listeners are drained.
	background []func(context.Context) error
	// When the process stops, the public listeners are drained first. The private listeners (probes, metrics, admin) are drained last.
	public, private []*listener
}

// Run runs until ctx ends or a part fails.
func Run(ctx context.Context, o Options, log *slog.Logger) (err error) {
	logr := bridge(log)
	limit, err := memory.Limit(o.memoryLimit)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	p := &process{o: o, log: log, memory: memory.NewGauge(limit, log)}
	p.background = append(p.background, p.memory.Run)
	// Read the kubeconfig first, so that no data directory is created if the kubeconfig is wrong.
	options := cluster.Options{Namespaces: o.watchNamespaces, ExternalURL: o.externalURL, Login: o.OIDC.Set(), WebhookPolicy: o.policy, Logger: logr}
	if !o.WithoutKubernetes {
		if options.RESTConfig, err = restConfig(o.kubeconfig); err != nil {
			return err
		}
	}
	if p.lib, err = p.openLibrary(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	defer func() { err = errors.Join(err, p.lib.Close()) }()
	if o.replicated() {
		if options.Lease, err = o.lease.lease(); err != nil {
			return err
		}
		if err := o.lease.shareAuthorities(ctx, o.sharedAuthorities(), options.RESTConfig, o.probes, log); err != nil {
			return unlessStopped(ctx, err)
		}
	}
	if err := removeCheckpoints(o.DataDir); err != nil {
		log.Warn("cannot remove an incomplete backup", "error", err)
	}
	p.operations = &operations{lib: p.lib, dataDir: o.DataDir, log: log}
	metrics := prometheus.NewRegistry()
	if err := RegisterMetrics(metrics, p.lib, p.memory, o.expectBackups, &p.operations.backups); err != nil {
		return err
	}
	p.metrics, options.Metrics, p.page = metrics, metrics, metricsPage(metrics)
	if err := p.openCertificate(); err != nil {
		return err
	}
	options.Library, options.CABundle = p.lib, p.caBundle
	if err := p.followDefinitions(options); err != nil {
		return err
	}
	if p.webhook, err = o.webhook.open(o.webhookDir(), options, log); err != nil {
		return err
	}
	p.background = append(p.background, p.webhook.background...)
	// If a signal arrives before everything runs, run handles the signal and stops everything in order.
	if err := p.listen(context.WithoutCancel(ctx)); err != nil {
		p.close()
		return err
	}
	return p.run(ctx)
}

// followDefinitions prepares the source of the definitions: the operator, or the source in the options.
func (p *process) followDefinitions(options cluster.Options) (err error) {
	if !p.o.WithoutKubernetes {
		if p.operator, err = cluster.NewSupervisor(options); err != nil {
			return fmt.Errorf("create the operator: %w", err)
		}
		p.background = append(p.background, p.operator.Run)
		p.loaded, p.rejected, p.manifest, p.operations.operator = p.operator.Loaded, p.operator.Rejected, p.operator.Manifest, p.operator
	}
	if p.o.Definitions != nil {
		source := p.o.Definitions(p.lib)
		p.loaded, p.rejected, p.manifest = source.Loaded, source.Rejected, source.Manifest
		p.background = append(p.background, func(ctx context.Context) error { return source.Run(ctx, p.api, p.public[0].net.Addr()) })
	}
	return nil
}

// unlessStopped returns nil if ctx ended while the process waited for another service, and otherwise err.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (p *process) openLibrary(ctx context.Context) (lib library.Library, err error) {
	o, log := p.o, p.log.With("part", "store")
	if o.Library == LibraryOpenSearch {
		return o.opensearch.open(ctx, o, p.memory.Pressure, log)
	}
	log.Info("opening the store", "dir", o.DataDir, "library", o.Library)
	lib, err = engine.Open(engine.Options{
		Dir: o.DataDir, Logger: log, Pressure: p.memory.Pressure, MemoryLimit: p.memory.Limit(), Crowded: p.memory.Crowded, AcceptLoss: o.acceptLoss,
		JournalAge: o.journalAge, JournalChanges: o.journalChanges,
	})
	if err == nil {
		return lib, nil
	}
	if damage, ok := errors.AsType[*synced.DamageError](err); ok && damage.Loss() != "" {
		err = fmt.Errorf("%w; or, to open the store without this data, start vitrine serve once with --accept-loss=%s", err, damage.Loss())
	}
	locked, newer := (*store.LockedError)(nil), (*store.NewerFormatError)(nil)
	if errors.As(err, &locked) || errors.As(err, &newer) {
		return nil, exit.With(exit.Store, err)
	}
	return nil, exit.With(exit.Store, fmt.Errorf("open the store in %s: %w", o.DataDir, err))
}

// openCertificate configures TLS with the given certificate files, or with a certificate from the server's own authority.
func (p *process) openCertificate() error {
	p.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if p.o.certFile != "" {
		watcher, err := certwatcher.New(p.o.certFile, p.o.keyFile)
		if err != nil {
			return exit.With(exit.Certificate, fmt.Errorf("cannot use --tls-cert-file %s with --tls-private-key-file %s: %w", p.o.certFile, p.o.keyFile, err))
		}
		p.tls.GetCertificate = watcher.GetCertificate
		p.background = append(p.background, watcher.Start)
		return nil
	}
	source, err := servingcert.Open(p.o.authorityDir(), p.o.certificateHosts(), nil)
	if err != nil {
		return exit.With(exit.Certificate, err)
	}
	p.tls.GetCertificate, p.caBundle = source.GetCertificate, source.CABundle()
	p.log.Info("serving a certificate from the server's own authority", "ca", source.CAFile())
	p.background = append(p.background, renew(source, "interface", p.log))
	return nil
}

// listen creates the HTTP server and binds all addresses. From then on, the server accepts connections. It responds with 503 until the
// definitions are loaded.
func (p *process) listen(ctx context.Context) error {
	var err error
	// A PageCache of 0, without a limit, stands for the default.
	p.api, err = httpapi.New(p.lib, httpapi.Options{
		Logger: p.log.With("part", "http"), ExternalURL: p.o.externalURL, Metrics: p.metrics, Version: version.Get().Version,
		Pressure: p.memory.Pressure, PageMemory: p.memory.Limit() / 4, PageCache: min(p.memory.Limit()/10, httpapi.DefaultPageCache), Rejected: p.rejected, Manifest: p.manifest,
	})
	if err != nil {
		return fmt.Errorf("create the HTTP interface: %w", err)
	}
	p.background = append(p.background, p.api.Run)
	p.health = &health{lib: p.lib, tokens: p.api.Ready, loaded: p.loaded}
	if p.operator != nil {
		p.health.operator = p.operator.Status
	}
	public, err := p.withConsole(p.api)
	if err != nil {
		return err
	}
	if p.o.Public != nil {
		public = p.o.Public(public)
	}
	gated := p.health.gate(public)
	for _, l := range []struct {
		name, flag, address string
		handler             http.Handler
		tls                 *tls.Config
		into                *[]*listener
	}{
		{"https", "https-bind-address", p.o.https, gated, p.tls, &p.public},
		{"http", "http-bind-address", p.o.HTTP, gated, nil, &p.public},
		{"probes", "health-probe-bind-address", p.o.probes, p.health.probes(), nil, &p.private},
		{"webhook", "webhook-bind-address", p.o.webhook.address, p.webhook.handler, p.webhook.tls, &p.private},
		{"debug", "debug-bind-address", p.o.debug, debugHandler(), nil, &p.private},
		{"metrics", "metrics-bind-address", p.o.metrics, p.page, nil, &p.private},
	} {
		if l.address == "" {
			continue
		}
		bound, err := listen(ctx, l.name, l.flag, l.address, l.handler, l.tls, p.log)
		if err != nil {
			return err
		}
		*l.into = append(*l.into, bound)
	}
	if p.o.debug != "" && !loopbackOnly(p.o.debug) {
		p.log.Warn("anyone who can reach this address can read profiles, which show memory contents", "address", p.o.debug)
	}
	if p.o.HTTP != "" && !loopbackOnly(p.o.HTTP) {
		p.log.Warn("plain HTTP is on and access tokens are sent unencrypted: only a proxy that terminates TLS should reach this address", "address", p.o.HTTP)
	}
	socket, err := admin.Listen(p.o.DataDir)
	if err != nil {
		return err
	}
	p.private = append(p.private, newListener("admin", socket, admin.Handler(p.operations, writeTimeout), nil, p.log))
	return nil
}

// withConsole returns the public handler, which serves the API and, if it is enabled, the console.
func (p *process) withConsole(api *httpapi.Server) (http.Handler, error) {
	if !p.o.Console {
		return api, nil
	}
	var hosts []string
	if u, err := url.Parse(p.o.externalURL); err == nil && u.Hostname() != "" {
		hosts = append(hosts, strings.ToLower(u.Hostname()))
	}
	made, err := console.New(console.Options{
		API: api, Key: p.lib.AuthorKey(), Hosts: hosts, Dir: p.o.ConsoleDir, Logger: p.log.With("part", "console"),
		Access: func(ctx context.Context, token string) (console.Access, bool, error) {
			return forConsole(api.Access(ctx, token))
		},
		OIDC: p.o.OIDC.forConsole(api),
	})
	if err != nil {
		return nil, fmt.Errorf("create the console: %w", err)
	}
	return made, nil
}

func loopbackOnly(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// close closes the listeners that were bound before another address failed.
func (p *process) close() {
	for _, l := range append(p.public, p.private...) {
		l.net.Close()
	}
}

// run starts all parts, waits until ctx ends or a part fails, and stops them. First, the public listeners refuse new requests and finish
// the requests in progress. Then the operator and the other background parts stop, and finally the private listeners.
func (p *process) run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	parts, failed := errgroup.WithContext(work)
	for _, l := range append(p.public, p.private...) {
		parts.Go(l.serve)
	}
	for _, f := range p.background {
		parts.Go(func() error {
			if err := f(failed); err != nil && failed.Err() == nil {
				return err
			}
			return nil // ignore errors that the stop itself causes
		})
	}
	select {
	case <-ctx.Done():
		p.log.Info("stopping: no new requests are accepted; send a second signal to exit immediately", "drain", p.o.DrainFor)
	case <-failed.Done():
		p.log.Error("stopping because a component failed", "error", context.Cause(failed))
	}
	p.health.draining.Store(true)
	p.api.Drain()
	// All steps share one deadline, because a pod has a single grace period.
	deadline, cancel := context.WithTimeout(context.Background(), p.o.DrainFor)
	defer cancel()
	p.linger(deadline)
	p.drain(deadline, p.public)
	stop()
	p.drain(deadline, p.private)
	p.operations.copies.Wait() // wait until the interrupted backups have removed their directories
	err := parts.Wait()
	p.log.Info("stopped")
	return err
}

// lingerShare limits linger to DrainFor / lingerShare.
const lingerShare = 20

// linger waits until no client is connected, but only for a part of the drain timeout. During this time, each response contains
// "Connection: close", so that the client closes the connection. If the server instead closed an idle connection at once, a request that
// the client is just sending could be lost.
func (p *process) linger(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.o.DrainFor/lingerShare)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for slices.ContainsFunc(p.public, func(l *listener) bool { return l.open.Load() > 0 }) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *process) drain(ctx context.Context, listeners []*listener) {
	var all sync.WaitGroup
	for _, l := range listeners {
		all.Go(func() {
			if err := l.drain(ctx); err != nil {
				p.log.Warn("draining", "error", err)
			}
		})
	}
	all.Wait()
}
