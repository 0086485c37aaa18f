package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"github.com/vitrine-dev/vitrine/controllers/admission"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/servingcert"
)

// webhookOptions are the flags of the admission webhook.
type webhookOptions struct {
	address, url, configuration string
	hosts                       []string
	clientCA                    string
	clientNames                 []string
}

func (o *webhookOptions) bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.address, "webhook-bind-address", "", "address of the validating webhook (default: off)")
	fs.StringVar(&o.url, "webhook-url", "", "base URL at which the API server reaches the webhook; with this flag, the server writes the whole webhook configuration (default: a manifest declares the configuration, which names the Service of the webhook)")
	fs.StringSliceVar(&o.hosts, "webhook-hosts", nil, "names and IP addresses for the webhook certificate, such as those of its Service; the certificate always includes loopback and the host of --webhook-url")
	fs.StringVar(&o.configuration, "webhook-configuration", "vitrine", "name of the ValidatingWebhookConfiguration in which the server sets the certificate authority")
	fs.StringVar(&o.clientCA, "webhook-client-ca-file", "", "PEM file of CA certificates, read again when it changes: the webhook then accepts only callers with a client certificate from one of these authorities (default: the webhook accepts all callers, as API servers send no certificate unless they are configured to)")
	fs.StringSliceVar(&o.clientNames, "webhook-client-names", nil, "common names of the client certificates that the webhook accepts, such as that of the API server (default: all names)")
}

func (o *webhookOptions) validate(withoutKubernetes bool) error {
	if o.address == "" {
		if o.url != "" || len(o.hosts) > 0 || o.clientCA != "" || len(o.clientNames) > 0 {
			return exit.Usagef("--webhook-url, --webhook-hosts, --webhook-client-ca-file and --webhook-client-names need --webhook-bind-address")
		}
		return nil
	}
	if len(o.clientNames) > 0 && o.clientCA == "" {
		return exit.Usagef("--webhook-client-names needs --webhook-client-ca-file: without it, the webhook accepts all callers")
	}
	if withoutKubernetes {
		return exit.Usagef("--webhook-bind-address cannot be used with --without-kubernetes: the API server calls the webhook")
	}
	if o.configuration == "" {
		return exit.Usagef("--webhook-configuration must not be empty")
	}
	o.url = strings.TrimRight(o.url, "/")
	if u, err := url.Parse(o.url); o.url != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "") {
		return exit.Usagef("--webhook-url %q: must be an absolute https URL without a query", o.url)
	}
	return nil
}

// certificateHosts returns the names and addresses in the webhook's certificate.
func (o *webhookOptions) certificateHosts() []string {
	return append(reachedAt(o.address, o.url), o.hosts...)
}

// webhook is what the address of the webhook serves.
type webhook struct {
	handler http.Handler
	tls     *tls.Config
	// background renews the certificate, and makes the API server trust it.
	background []func(context.Context) error
}

// open creates the handler of the webhook, and its certificate in dir. The webhook has its own authority, so that it does not depend on the
// certificate that a user may provide for the API.
func (o *webhookOptions) open(dir string, c cluster.Options, log *slog.Logger) (w webhook, err error) {
	if o.address == "" {
		return w, nil
	}
	logr := c.Logger.WithName("admission")
	if w.handler, err = admission.New(admission.Options{Logger: logr, Metrics: c.Metrics}); err != nil {
		return w, fmt.Errorf("create the webhook: %w", err)
	}
	source, err := servingcert.Open(dir, o.certificateHosts(), nil)
	if err != nil {
		return w, exit.With(exit.Certificate, err)
	}
	keeper := &admission.Keeper{RESTConfig: c.RESTConfig, Name: o.configuration, URL: o.url, CABundle: source.CABundle(), Logger: logr}
	w.background = append(w.background, keeper.Run, renew(source, "webhook", log))
	w.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: source.GetCertificate}
	if o.clientCA != "" {
		clients, err := admission.OpenClients(o.clientCA, o.clientNames, logr)
		if err != nil {
			return w, exit.With(exit.Certificate, fmt.Errorf("cannot use --webhook-client-ca-file: %w", err))
		}
		w.tls = clients.Require(w.tls)
	}
	return w, nil
}
