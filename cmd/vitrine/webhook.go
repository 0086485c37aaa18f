package main

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
	"github.com/vitrine-dev/vitrine/internal/servingcert"
)

// webhookOptions are the flags of the admission webhook.
type webhookOptions struct {
	address, url, configuration string
	hosts                       []string
}

func (o *webhookOptions) bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.address, "webhook-bind-address", "", "address of the validating webhook (default: off)")
	fs.StringVar(&o.url, "webhook-url", "", "base URL at which the API server reaches the webhook; with this flag, the server writes the whole webhook configuration (default: a manifest declares the configuration, which names the Service of the webhook)")
	fs.StringSliceVar(&o.hosts, "webhook-hosts", nil, "names and IP addresses for the webhook certificate, such as those of its Service; the certificate always includes loopback and the host of --webhook-url")
	fs.StringVar(&o.configuration, "webhook-configuration", "vitrine", "name of the ValidatingWebhookConfiguration in which the server sets the certificate authority")
}

func (o *webhookOptions) validate(withoutKubernetes bool) error {
	if o.address == "" {
		if o.url != "" || len(o.hosts) > 0 {
			return usagef("--webhook-url and --webhook-hosts need --webhook-bind-address")
		}
		return nil
	}
	if withoutKubernetes {
		return usagef("--webhook-bind-address cannot be used with --without-kubernetes: the API server calls the webhook")
	}
	if o.configuration == "" {
		return usagef("--webhook-configuration must not be empty")
	}
	o.url = strings.TrimRight(o.url, "/")
	if u, err := url.Parse(o.url); o.url != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "") {
		return usagef("--webhook-url %q: must be an absolute https URL without a query", o.url)
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
		return nil, nil, &codedError{exitCertificate, err}
	}
	keeper := &admission.Keeper{
		RESTConfig: o.RESTConfig, Name: p.o.webhook.configuration, URL: p.o.webhook.url, CABundle: source.CABundle(),
		Logger: log.WithName("admission"),
	}
	p.background = append(p.background, keeper.Run, p.renew(source, "webhook"))
	return handler, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: source.GetCertificate}, nil
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
