package main

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vitrine-dev/vitrine/server/library"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	kubeconfig        string
	withoutKubernetes bool
	watchNamespaces   []string

	dataDir     string
	library     string
	memoryLimit string

	https, http, probes, metrics string
	certFile, keyFile            string
	tlsHosts                     []string
	externalURL                  string
	drainFor                     time.Duration

	webhook webhookOptions
	debug   string

	logFormat, logLevel string
}

// The values of --library. Both keep their items in one store, so that either opens what the other has written.
const (
	libraryEngine    = "engine"
	libraryReference = "reference"
)

func newServe() *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the content server and its operator",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, flush, err := newLogger(cmd.ErrOrStderr(), o.logFormat, o.logLevel)
			if err != nil {
				return err
			}
			defer flush()
			if err := o.validate(); err != nil {
				return err
			}
			return serve(cmd.Context(), *o, log)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster to watch (default: the files that KUBECONFIG names, else the pod's own cluster; never ~/.kube/config)")
	fs.BoolVar(&o.withoutKubernetes, "without-kubernetes", false, "watch no cluster and serve what is stored")
	fs.StringSliceVar(&o.watchNamespaces, "watch-namespaces", nil, "namespaces to watch (default all)")
	bindDataDir(fs, &o.dataDir)
	fs.StringVar(&o.library, "library", libraryEngine, "engine, or reference for tests that compare the two")
	fs.Lookup("library").Hidden = true
	fs.StringVar(&o.memoryLimit, "memory-limit", "", "what the process may take, such as 512Mi: caches shrink near it, and at it writes of items are refused (default GOMEMLIMIT, else 80 % of the container's limit)")
	fs.StringVar(&o.https, "https-bind-address", ":8443", "address of the interface over HTTPS")
	fs.StringVar(&o.certFile, "tls-cert-file", "", "certificate chain in PEM, reloaded when it changes (default: one from an authority that is made in the data directory)")
	fs.StringVar(&o.keyFile, "tls-private-key-file", "", "key of the certificate in PEM")
	fs.StringSliceVar(&o.tlsHosts, "tls-hosts", nil, "further names and IP addresses for the certificate that the server makes for itself, such as its Service's")
	fs.StringVar(&o.http, "http-bind-address", "", "address of the interface over plain HTTP: for loopback, or behind a proxy that ends TLS (default off)")
	fs.StringVar(&o.probes, "health-probe-bind-address", ":8081", "address of /readyz and /healthz")
	fs.StringVar(&o.metrics, "metrics-bind-address", ":9090", "address of /metrics; empty for none")
	o.webhook.bind(fs)
	fs.StringVar(&o.debug, "debug-bind-address", "", "address of /debug/pprof/, for loopback: profiles tell what is in memory (default off)")
	fs.StringVar(&o.externalURL, "external-url", "", "base address under which callers reach the server; a Property's externalURL beats it")
	fs.DurationVar(&o.drainFor, "drain-timeout", 20*time.Second, "how long requests under way may go on when the server is stopped")
	fs.StringVar(&o.logFormat, "log-format", "text", "text or json")
	fs.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// validate refuses what cannot work, before anything is opened.
func (o *serveOptions) validate() error {
	if o.library != libraryEngine && o.library != libraryReference {
		return usagef("--library %q: there are engine and reference", o.library)
	}
	if (o.certFile == "") != (o.keyFile == "") {
		return usagef("--tls-cert-file and --tls-private-key-file need each other: give both, or neither to have a certificate made")
	}
	if o.withoutKubernetes && (o.kubeconfig != "" || len(o.watchNamespaces) > 0) {
		return usagef("--without-kubernetes contradicts --kubeconfig and --watch-namespaces")
	}
	if o.withoutKubernetes && o.https == "" && o.http == "" {
		return usagef("there is no address to serve content at: give --https-bind-address or --http-bind-address")
	}
	for _, a := range []struct{ flag, address string }{
		{"https-bind-address", o.https}, {"http-bind-address", o.http}, {"health-probe-bind-address", o.probes},
		{"metrics-bind-address", o.metrics}, {"debug-bind-address", o.debug},
	} {
		if err := checkBindAddress(a.flag, a.address); err != nil {
			return err
		}
	}
	if err := o.webhook.validate(o.withoutKubernetes); err != nil {
		return err
	}
	for i, ns := range o.watchNamespaces {
		ns = strings.TrimSpace(ns)
		if len(validation.IsDNS1123Label(ns)) > 0 {
			// An empty name would watch everything: what is meant as a restriction must not become none.
			return usagef("--watch-namespaces: %q is no namespace: name them with commas between them, or leave the flag out for all", ns)
		}
		o.watchNamespaces[i] = ns
	}
	if o.drainFor < 0 {
		return usagef("--drain-timeout %s: want 0s or more", o.drainFor)
	}
	o.externalURL = strings.TrimRight(o.externalURL, "/")
	if err := library.CheckExternalURL(o.externalURL); err != nil {
		return usagef("--external-url: %w", err)
	}
	return nil
}

// checkBindAddress refuses an address without a port; "" stands for none.
func checkBindAddress(flag, address string) error {
	if address == "" {
		return nil
	}
	_, _, err := net.SplitHostPort(address)
	if err == nil {
		return nil
	}
	if _, portErr := strconv.ParseUint(address, 10, 16); portErr == nil {
		return usagef("--%s %s: want [host]:port, such as :%s", flag, address, address)
	}
	return usagef("--%s: want [host]:port: %w", flag, err)
}

// certificateHosts are the names and addresses that the server's own certificate is for.
func (o *serveOptions) certificateHosts() []string {
	return append(reachedAt(o.https, o.externalURL), o.tlsHosts...)
}

// reachedAt are the names and addresses under which a listener is reached: on loopback, by the host of its URL ("" for
// none), and at the IP address that it is bound to, unless that is all of them.
func reachedAt(address, external string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if u, err := url.Parse(external); err == nil && u.Hostname() != "" {
		hosts = append(hosts, u.Hostname())
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() && !ip.IsLoopback() {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
