package server

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/webhooks"
)

// Options are the settings of a server: the flags of serve, and what vitrine dev sets instead. Only the fields that a command sets or reads
// are exported.
type Options struct {
	kubeconfig        string
	WithoutKubernetes bool
	watchNamespaces   []string

	DataDir     string
	Library     string
	opensearch  OpenSearch
	lease       leaseFlags
	acceptLoss  string
	memoryLimit string
	// journalAge and journalChanges limit the journal of changes. 0 means the default of the engine, for a server without flags.
	journalAge     time.Duration
	journalChanges int64
	// expectBackups is the expected time between two scheduled backups, for the metrics.
	expectBackups time.Duration

	https, HTTP, probes, metrics string
	certFile, keyFile            string
	tlsHosts                     []string
	externalURL                  string
	DrainFor                     time.Duration

	// Definitions, if not nil, loads the definitions from a source other than Kubernetes.
	Definitions func(library.Library) Definitions

	// Public, if not nil, wraps the handler of the public addresses.
	Public func(http.Handler) http.Handler
	// Console enables the console. If ConsoleDir is set, the server uses its files instead of the embedded ones.
	Console    bool
	ConsoleDir string
	OIDC       OIDC

	webhook webhookOptions
	debug   string
	// allowHosts are hosts to which the deliveries of Webhooks may also go, and policy is their parsed form.
	allowHosts []string
	policy     webhooks.Policy

	LogFormat, LogLevel string
}

// Definitions is a source of definitions other than Kubernetes.
type Definitions struct {
	// Run loads the definitions and follows their changes until ctx ends. It starts when the server serves api on address.
	Run func(ctx context.Context, api *httpapi.Server, address net.Addr) error
	// Loaded reports whether the definitions are loaded.
	Loaded func() bool
	// Rejected returns the errors of a property, as the field with this name of httpapi.Options.
	Rejected func(context.Context, library.PropertyID) ([]library.Rejection, bool, error)
	// Manifest returns an object, as the field with this name of httpapi.Options.
	Manifest func(context.Context, library.PropertyID, library.Owner) (library.Manifest, error)
}

// Bind declares the flags of serve.
func (o *Options) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster to watch (default: the files in KUBECONFIG, else the cluster of the pod; never ~/.kube/config)")
	fs.BoolVar(&o.WithoutKubernetes, "without-kubernetes", false, "watch no cluster and serve the stored state")
	fs.StringSliceVar(&o.watchNamespaces, "watch-namespaces", nil, "namespaces to watch (default: all)")
	BindDataDir(fs, &o.DataDir)
	fs.StringVar(&o.Library, "library", LibraryEngine, "where to store and search items: engine (the data directory) or opensearch (an OpenSearch cluster)")
	o.opensearch.Bind(fs)
	o.lease.bind(fs)
	fs.StringVar(&o.acceptLoss, "accept-loss", "", "name of the damage, as in the error of an earlier start, without whose data the engine may open the store; the damaged file is kept beside the store's files")
	fs.StringVar(&o.memoryLimit, "memory-limit", "", "memory limit of the process, such as 512Mi: above 75 %, caches shrink; above 90 %, the server rejects writes of items other than deletions (default: GOMEMLIMIT, else 80 % of the limit of the container)")
	fs.DurationVar(&o.journalAge, "journal-age", 7*24*time.Hour, "how long the library knows which items have changed, for callers that follow a listing")
	fs.Int64Var(&o.journalChanges, "journal-changes", 1_000_000, "number of newest changes of each property that the library knows; on OpenSearch, of deletions, for callers that follow a listing")
	fs.DurationVar(&o.expectBackups, "expect-backups", 0, "expected time between two backups by vitrine backup --every, such as 24h; an alert reports overdue backups (default: none are expected)")
	fs.StringVar(&o.https, "https-bind-address", ":8443", "address of the HTTPS API; empty means off")
	fs.StringVar(&o.certFile, "tls-cert-file", "", "PEM file with the certificate chain, reloaded when it changes (default: a certificate from an authority in the data directory)")
	fs.StringVar(&o.keyFile, "tls-private-key-file", "", "PEM file with the private key of the certificate")
	fs.StringSliceVar(&o.tlsHosts, "tls-hosts", nil, "additional names and IP addresses for the certificate that the server creates, such as those of its Service")
	fs.StringVar(&o.HTTP, "http-bind-address", "", "address of the plain HTTP API, for loopback or behind a proxy that terminates TLS (default: off)")
	fs.BoolVar(&o.Console, "console", false, "serve the console, a web page to find, compare and moderate content, below /console/ on the HTTPS and HTTP addresses")
	o.OIDC.Bind(fs)
	fs.StringVar(&o.probes, "health-probe-bind-address", ":8081", "address of /readyz and /healthz")
	fs.StringVar(&o.metrics, "metrics-bind-address", ":9090", "address of /metrics; empty means off")
	o.webhook.bind(fs)
	fs.StringSliceVar(&o.allowHosts, "webhook-allow-host", nil, "names of hosts, IP addresses and CIDR ranges to which the deliveries of Webhooks may go, over http too (default: only hosts with public addresses, over https)")
	fs.StringVar(&o.debug, "debug-bind-address", "", "address of /debug/pprof/; use a loopback address, because profiles show memory contents (default: off)")
	fs.StringVar(&o.externalURL, "external-url", "", "base URL at which callers reach the server; externalURL of a Property overrides it")
	fs.DurationVar(&o.DrainFor, "drain-timeout", 20*time.Second, "how long requests and backups in progress may continue after SIGTERM, in total; the grace period of the pod must be longer")
	fs.StringVar(&o.LogFormat, "log-format", "text", "log format: text or json")
	fs.StringVar(&o.LogLevel, "log-level", "info", "lowest level to log: debug, info, warn or error")
}

// Validate checks the flags, before the server opens any file or address.
func (o *Options) Validate() error {
	switch o.Library {
	case LibraryEngine, LibraryOpenSearch:
	default:
		return exit.Usagef("--library %q: must be engine or opensearch", o.Library)
	}
	policy, err := webhooks.ParsePolicy(o.allowHosts)
	if err != nil {
		return exit.Usagef("--webhook-allow-host: %w", err)
	}
	o.policy = policy
	if err := o.opensearch.validate(o.Library == LibraryOpenSearch); err != nil {
		return err
	}
	if err := o.lease.validate(o.replicated()); err != nil {
		return err
	}
	if (o.certFile == "") != (o.keyFile == "") {
		return exit.Usagef("--tls-cert-file and --tls-private-key-file must be set together; without them, the server creates a certificate")
	}
	if o.WithoutKubernetes && (o.kubeconfig != "" || len(o.watchNamespaces) > 0) {
		return exit.Usagef("--without-kubernetes cannot be used with --kubeconfig or --watch-namespaces")
	}
	if o.WithoutKubernetes && o.https == "" && o.HTTP == "" {
		return exit.Usagef("no address to serve content on: pass --https-bind-address or --http-bind-address")
	}
	for _, a := range []struct{ flag, address string }{
		{"https-bind-address", o.https}, {"http-bind-address", o.HTTP}, {"health-probe-bind-address", o.probes},
		{"metrics-bind-address", o.metrics}, {"debug-bind-address", o.debug},
	} {
		if err := CheckBindAddress(a.flag, a.address); err != nil {
			return err
		}
	}
	if err := o.webhook.validate(o.WithoutKubernetes); err != nil {
		return err
	}
	for i, ns := range o.watchNamespaces {
		ns = strings.TrimSpace(ns)
		if len(validation.IsDNS1123Label(ns)) > 0 {
			// Reject an empty name, which would select all namespaces, although the flag is meant to restrict the namespaces.
			return exit.Usagef("--watch-namespaces: %q is not the name of a namespace: separate namespaces with commas, or omit the flag to watch all", ns)
		}
		o.watchNamespaces[i] = ns
	}
	if o.journalAge <= 0 {
		return exit.Usagef("--journal-age %s: must be more than 0s", o.journalAge)
	}
	if o.journalChanges <= 0 {
		return exit.Usagef("--journal-changes %d: must be more than 0", o.journalChanges)
	}
	if o.expectBackups < 0 {
		return exit.Usagef("--expect-backups %s: must be 0s or more", o.expectBackups)
	}
	if o.DrainFor < 0 {
		return exit.Usagef("--drain-timeout %s: must be 0s or more", o.DrainFor)
	}
	o.externalURL = strings.TrimRight(o.externalURL, "/")
	if err := library.CheckExternalURL(o.externalURL); err != nil {
		return exit.Usagef("--external-url: %w", err)
	}
	return o.OIDC.Validate(o.Console, o.externalURL)
}

// replicated reports whether this process can be one of several replicas that serve the same library and follow the same cluster.
func (o *Options) replicated() bool {
	return o.Library == LibraryOpenSearch && !o.WithoutKubernetes
}

// CheckBindAddress returns an error for an address without a port. "" means no address.
func CheckBindAddress(flag, address string) error {
	if address == "" {
		return nil
	}
	_, _, err := net.SplitHostPort(address)
	if err == nil {
		return nil
	}
	if _, portErr := strconv.ParseUint(address, 10, 16); portErr == nil {
		return exit.Usagef("--%s %s: must be [host]:port, such as :%s", flag, address, address)
	}
	return exit.Usagef("--%s: must be [host]:port: %w", flag, err)
}

// sharedAuthorities returns the directories of the authorities that replicas share, by the key in the Secret that contains them.
func (o *Options) sharedAuthorities() map[string]string {
	dirs := map[string]string{}
	if o.certFile == "" {
		dirs["tls.pem"] = o.authorityDir()
	}
	if o.webhook.address != "" {
		dirs["webhook.pem"] = o.webhookDir()
	}
	return dirs
}

// certificateHosts returns the names and addresses in the server's own certificate.
func (o *Options) certificateHosts() []string {
	return append(reachedAt(o.https, o.externalURL), o.tlsHosts...)
}

// authorityDir returns the directory of the server's own certificates.
func (o *Options) authorityDir() string { return filepath.Join(o.DataDir, "tls") }

// webhookDir returns the directory of the webhook's own certificates.
func (o *Options) webhookDir() string { return filepath.Join(o.DataDir, "webhook") }

// defaultDataDir is the path at which the manifests in config mount the server's volume.
const defaultDataDir = "/var/lib/vitrine"

// BindDataDir declares the flag that names the data directory of a server.
func BindDataDir(fs *pflag.FlagSet, dir *string) {
	fs.StringVar(dir, "data-dir", defaultDataDir, "data directory of the server")
}
