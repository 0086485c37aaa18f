package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-logr/logr"
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

// openWebhook creates the handler of the webhook and its certificate, and starts a Keeper, which makes the API server trust the
// certificate. The webhook has its own authority, so that it does not depend on the certificate that a user may provide for the API.
func (p *process) openWebhook(o cluster.Options, log logr.Logger) (http.Handler, *tls.Config, error) {
	if p.o.webhook.address == "" {
		return nil, nil, nil
	}
	handler, err := admission.New(admission.Options{Logger: log.WithName("admission"), Metrics: p.metrics})
	if err != nil {
		return nil, nil, fmt.Errorf("create the webhook: %w", err)
	}
	source, err := servingcert.Open(p.webhookDir(), p.o.webhook.certificateHosts(), nil)
	if err != nil {
		return nil, nil, exit.With(exit.Certificate, err)
	}
	keeper := &admission.Keeper{
		RESTConfig: o.RESTConfig, Name: p.o.webhook.configuration, URL: p.o.webhook.url, CABundle: source.CABundle(),
		Logger: log.WithName("admission"),
	}
	p.background = append(p.background, keeper.Run, p.renew(source, "webhook"))
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: source.GetCertificate}
	if file := p.o.webhook.clientCA; file != "" {
		clients, err := admission.OpenClients(file, p.o.webhook.clientNames, log.WithName("admission"))
		if err != nil {
			return nil, nil, exit.With(exit.Certificate, fmt.Errorf("cannot use --webhook-client-ca-file: %w", err))
		}
		config = clients.Require(config)
	}
	return handler, config, nil
}

// renew returns a background task that renews a certificate of the server before it expires.
func (p *process) renew(source *servingcert.Source, of string) func(context.Context) error {
	return func(ctx context.Context) error {
		source.Run(ctx, func(renewed bool, err error) {
			if err != nil {
				p.log.Error("renewing the certificate failed; the current one stays in use", "of", of, "error", err)
			} else if renewed {
				p.log.Info("certificate renewed", "of", of)
			}
		})
		return nil
	}
}
