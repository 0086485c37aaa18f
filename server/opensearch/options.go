package opensearch

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Options are what a Library is opened with.
type Options struct {
	// URLs are the HTTP addresses of nodes of the cluster. Required.
	URLs []string
	// UsernameFile and PasswordFile hold what is sent with every request, each without the line break at its end; both or
	// neither. They are read again when they change.
	UsernameFile, PasswordFile string
	// CAFile holds the certificates in PEM that the cluster's are verified with, and is read again when it changes; "" means
	// those of the system.
	CAFile string
	// AllowHTTP permits http:// for addresses other than loopback ones.
	AllowHTTP bool
	// Prefix begins the name of every index: lower-case letters, digits and hyphens, at most 40 characters. "" means
	// DefaultPrefix.
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
	// window is how many hits a search may skip and return together; 0 means 50,000.
	window int
}

// DefaultPrefix begins the names of indices unless Options say otherwise.
const DefaultPrefix = "vitrine"

var validPrefix = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

func (o Options) withDefaults() (Options, error) {
	if len(o.URLs) == 0 {
		return o, &OptionsError{"no URL of OpenSearch is given"}
	}
	if (o.UsernameFile == "") != (o.PasswordFile == "") {
		return o, &OptionsError{"a username file and a password file need each other: give both or neither"}
	}
	for _, address := range o.URLs {
		if err := o.checkURL(address); err != nil {
			return o, err
		}
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if !validPrefix.MatchString(o.Prefix) || strings.Contains(o.Prefix+"-", "-items-") {
		return o, &OptionsError{fmt.Sprintf("index prefix %q: use at most 40 lower-case letters, digits and hyphens, the first one a letter, without -items", o.Prefix)}
	}
	setDefault(&o.Shards, 1)
	setDefault(&o.Replicas, "0-1")
	setDefault(&o.RefreshInterval, 200*time.Millisecond)
	setDefault(&o.FollowInterval, 200*time.Millisecond)
	setDefault(&o.Timeout, 30*time.Second)
	setDefault(&o.window, 50_000)
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

// checkURL refuses addresses that would send items and credentials in the clear, and addresses that hold credentials: those
// come from files.
func (o Options) checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &OptionsError{"a URL of OpenSearch is no http or https URL: want https://host:port"}
	}
	if u.User != nil {
		return &OptionsError{fmt.Sprintf("%s holds credentials: give them as files", u.Redacted())}
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return &OptionsError{fmt.Sprintf("%s: want https://host:port, without a path", address)}
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback(); u.Scheme == "http" && !loopback && !o.AllowHTTP {
		return &OptionsError{fmt.Sprintf("%s is not encrypted: use https, or allow plain HTTP explicitly", address)}
	}
	return nil
}

// OptionsError says that a Library cannot be opened with some Options.
type OptionsError struct{ Reason string }

// Error says what is wrong.
func (e *OptionsError) Error() string { return e.Reason }

// Check returns an *OptionsError for Options that no Library can be opened with, without reading a file or asking the cluster.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}
