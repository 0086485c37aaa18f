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
)

// Options are what a Supervisor needs.
type Options struct {
	// RESTConfig says how to reach the API server; it is asked again before every try. Required.
	RESTConfig func() (*rest.Config, error)
	// Library is kept as the manifests say. Required.
	Library library.Library
	// Namespaces restricts what is watched; none means all.
	Namespaces []string
	// ExternalURL is the base of URLs in status and Secrets where the Property names none, without a trailing slash.
	ExternalURL string
	// CABundle is written as ca.crt beside each token, where the server made its own certificate. PEM; nil otherwise.
	CABundle []byte
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	// Logger is used for everything; the zero value discards.
	Logger logr.Logger
	// Metrics registers this package's metrics; nil registers none.
	Metrics prometheus.Registerer
	// Concurrency is the number of workers a kind; 0 means 8.
	Concurrency int
	// CountInterval is the time between two looks at the counts in status; 0 means 2 seconds.
	CountInterval time.Duration
	// WatchInterval is the time between two checks of the API server: that it answers, that it is still the same cluster, and
	// that its data have not gone back in time. 0 means 1 second.
	WatchInterval time.Duration
	// PropertyGrace is how long an object that finds its Property missing waits before its status and an event say so. GitOps
	// tools apply and prune in their own order, and are usually done before a user has to act. 0 means 30 seconds; a negative
	// value means no grace.
	PropertyGrace time.Duration
	// MaxBackoff bounds the wait between two tries to run a manager; 0 means 30 seconds.
	MaxBackoff time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.RESTConfig == nil || o.Library == nil {
		return o, errors.New("cluster: RESTConfig and Library are required")
	}
	if slices.Contains(o.Namespaces, "") {
		return o, errors.New("cluster: an empty namespace would stand for all: leave Namespaces out for that")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	o.Concurrency = cmp.Or(o.Concurrency, 8)
	o.CountInterval = cmp.Or(o.CountInterval, 2*time.Second)
	o.WatchInterval = cmp.Or(o.WatchInterval, time.Second)
	o.PropertyGrace = cmp.Or(o.PropertyGrace, 30*time.Second)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 30*time.Second)
	return o, nil
}
