package opensearch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"time"
)

// Options are what a Library is opened with.
type Options struct {
	// URLs are the HTTP addresses of nodes of the cluster. Required.
	URLs []string
	// Username and Password are sent with every request; empty for none.
	Username, Password string
	// CA holds PEM certificates to verify the cluster with; empty means those of the system.
	CA []byte
	// AllowHTTP permits http:// for addresses other than loopback ones.
	AllowHTTP bool
	// Prefix begins the name of every index: lower-case letters, digits and hyphens, at most 40 characters. "" means vitrine.
	// Libraries with different prefixes share a cluster.
	Prefix string
	// Shards is the number of primary shards of a property's items; 0 means 1, with which scores equal those of other
	// libraries.
	Shards int
	// Replicas is the number of copies of each shard as OpenSearch takes auto_expand_replicas; "" means 0-1.
	Replicas string
	// RefreshInterval is how long a write may wait until searches find it; 0 means 200 ms.
	RefreshInterval time.Duration
	// FollowInterval is the time between two looks at the definitions; 0 means 200 ms.
	FollowInterval time.Duration
	// Timeout bounds a request for which the caller sets no earlier deadline; 0 means 30 s.
	Timeout time.Duration
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	// Logger takes what an operator may want to know; nil means nothing is logged. No item, token or other personal data is
	// ever logged.
	Logger *slog.Logger
	// Random is read for what must not be guessed; nil means crypto/rand.
	Random io.Reader
	// Transport replaces the HTTP transport in tests; nil means a copy of http.DefaultTransport.
	Transport http.RoundTripper
}

var validPrefix = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

func (o Options) withDefaults() (Options, error) {
	if len(o.URLs) == 0 {
		return o, errors.New("open the library on OpenSearch: no URL is given")
	}
	for _, address := range o.URLs {
		if err := o.checkURL(address); err != nil {
			return o, err
		}
	}
	if o.Prefix == "" {
		o.Prefix = "vitrine"
	}
	if !validPrefix.MatchString(o.Prefix) {
		return o, fmt.Errorf("open the library on OpenSearch: index prefix %q: use at most 40 lower-case letters, digits and hyphens", o.Prefix)
	}
	setDefault(&o.Shards, 1)
	setDefault(&o.Replicas, "0-1")
	setDefault(&o.RefreshInterval, 200*time.Millisecond)
	setDefault(&o.FollowInterval, 200*time.Millisecond)
	setDefault(&o.Timeout, 30*time.Second)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return o, nil
}

func setDefault[T comparable](v *T, byDefault T) {
	var zero T
	if *v == zero {
		*v = byDefault
	}
}

// checkURL refuses addresses that would send items and credentials in the clear.
func (o Options) checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("open the library on OpenSearch: %q is no http or https URL", address)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback(); u.Scheme == "http" && !loopback && !o.AllowHTTP {
		return fmt.Errorf("open the library on OpenSearch: %s is not encrypted: use https, or allow plain HTTP explicitly", u.Redacted())
	}
	return nil
}
