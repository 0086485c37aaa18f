package cluster

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/webhooks"
)

// Options configures a Supervisor.
type Options struct {
	// RESTConfig returns the client configuration for the API server. The Supervisor calls it before every attempt. Required.
	RESTConfig func() (*rest.Config, error)
	// Library is the library that the controllers keep in sync with the manifests. Required.
	Library library.Library
	// Lease decides which of several replicas runs the controllers. If Lease is set, Library must be a library.Shared. nil means that this
	// process is the only replica.
	Lease *Lease
	// Namespaces are the namespaces to watch; empty means all.
	Namespaces []string
	// ExternalURL is the base URL, without a trailing slash, in statuses and Secrets if the Property does not set its own base URL.
	ExternalURL string
	// Login is true if the server has an identity provider, through which people log in to the console.
	Login bool
	// CABundle is the PEM bundle that each token's Secret contains as ca.crt. Set it if the server created its own certificate.
	CABundle []byte
	// WebhookPolicy decides to which hosts the deliveries of Webhooks may go.
	WebhookPolicy webhooks.Policy
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
	// Logger receives all messages; the zero value discards them.
	Logger logr.Logger
	// Metrics registers this package's metrics; nil registers none.
	Metrics prometheus.Registerer
	// CountInterval is the time between two checks of the counts in statuses, and between two checks whether the library serves the
	// Properties; 0 means 2 seconds.
	CountInterval time.Duration
	// WatchInterval is the time between two checks that the API server answers, that it still belongs to the same cluster, and that
	// its data has not gone back in time. 0 means 1 second.
	WatchInterval time.Duration
	// PropertyGrace is the time for which an object may lack its Property before its status and an event report the problem. GitOps tools
	// create and delete objects in their own order, so a Property is often missing for a short time. PropertyGrace is also the time for
	// which the library may stop serving a Property before the status of the Property and an event report this. 0 means 30 seconds; a
	// negative value means no grace period.
	PropertyGrace time.Duration
	// MaxBackoff is the maximum wait between two managers that end soon after they start; 0 means 30 seconds.
	MaxBackoff time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.RESTConfig == nil || o.Library == nil {
		return o, errors.New("cluster: RESTConfig and Library are required")
	}
	if _, shared := o.Library.(library.Shared); o.Lease != nil && !shared {
		return o, errors.New("cluster: Lease requires a Library that several processes can open")
	}
	if slices.Contains(o.Namespaces, "") {
		return o, errors.New("cluster: Namespaces contains an empty name: omit Namespaces to watch all")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.Lease != nil {
		lease := *o.Lease
		lease.Duration = cmp.Or(lease.Duration, 15*time.Second)
		o.Lease = &lease
	}
	o.CountInterval = cmp.Or(o.CountInterval, 2*time.Second)
	o.WatchInterval = cmp.Or(o.WatchInterval, time.Second)
	o.PropertyGrace = cmp.Or(o.PropertyGrace, 30*time.Second)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 30*time.Second)
	return o, nil
}
