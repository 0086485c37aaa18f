package opensearch

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/upkeep"
)

// Options configures a Library.
type Options struct {
	// URLs contains the HTTP addresses of nodes of the cluster. Required.
	URLs []string
	// UsernameFile and PasswordFile contain the credentials, which are sent with every request. A trailing line break is ignored. Set both
	// or neither. The files are read again when they change.
	UsernameFile, PasswordFile string
	// CAFile contains the PEM certificates of the authorities that may sign the cluster's certificate. The file is read again when it
	// changes. An empty string means the authorities of the system.
	CAFile string
	// AllowHTTP permits http:// for addresses other than loopback addresses.
	AllowHTTP bool
	// Prefix is the prefix of every index name. It consists of lower-case letters, digits and hyphens, and has at most 40 characters. An
	// empty string means DefaultPrefix. Libraries with different prefixes can share a cluster.
	Prefix string
	// MustExist makes Open fail if the cluster has no library with the prefix. Otherwise, Open creates one.
	MustExist bool
	// RefreshInterval is the maximum time until searches find a write; 0 means 200 ms.
	RefreshInterval time.Duration
	// FollowInterval is the time between two checks for changed definitions; 0 means 200 ms.
	FollowInterval time.Duration
	// LookTimeout limits one request for changed definitions or for the state of an index; 0 means 3 s. Without this limit, a connection
	// that is silently lost would delay the revocation of tokens and other changes.
	LookTimeout time.Duration
	// Timeout limits a request if the caller sets no earlier deadline; 0 means 30 s.
	Timeout time.Duration
	// ReadTimeout limits a read of items, including all of its requests. It does not limit exports. The maximum is one minute; 0 means
	// DefaultReadTimeout.
	ReadTimeout time.Duration
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
	// Pressure returns the memory pressure of the process; nil means library.Relaxed. Above library.Relaxed, the library caches no items. At
	// library.Full, it rejects mutations other than deletions with library.ErrUnavailable.
	Pressure func() library.Pressure
	// Logger receives messages for the operator; nil disables logging. Items, tokens and personal data are never logged.
	Logger *slog.Logger
	// Transport replaces the HTTP transport in tests; nil means a copy of http.DefaultTransport.
	Transport http.RoundTripper
	// EraseWithin is the maximum time that the bytes of a deleted item may stay in the cluster's files; 0 means 10 minutes. It must be
	// longer than six times Timeout. It must also be longer than three minutes, because the copies of a shard report only every 30 seconds
	// which deleted documents they need. If the time is shorter, files are rewritten more often.
	EraseWithin time.Duration
	// JournalAge is the time for which Changes knows the deletion of an item; 0 means 7 days. JournalChanges is the maximum number of deletions
	// of each property that it knows; 0 means a million. Other changes stay known.
	JournalAge     time.Duration
	JournalChanges int64
	// window is the maximum sum of skipped and returned hits of a search; 0 means 50,000.
	window int
	// schemas contains the schemas of indices of items; nil means schema.All().
	schemas []schema.Schema
	// rebuild contains the times of background tasks.
	rebuild upkeep.Times
}

// DefaultPrefix and DefaultReadTimeout are the defaults of Options.Prefix and Options.ReadTimeout.
const (
	DefaultPrefix      = "vitrine"
	DefaultReadTimeout = 6 * time.Second
)

var validPrefix = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

func (o Options) withDefaults() (Options, error) {
	if len(o.URLs) == 0 {
		return o, &OptionsError{"no URL of OpenSearch is given"}
	}
	if (o.UsernameFile == "") != (o.PasswordFile == "") {
		return o, &OptionsError{"a username file and a password file must be set together"}
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
		return o, &OptionsError{fmt.Sprintf("index prefix %q: must have at most 40 lowercase letters, digits and hyphens, begin with a letter, and not contain the part -items", o.Prefix)}
	}
	if o.ReadTimeout < 0 || o.ReadTimeout > time.Minute {
		return o, &OptionsError{fmt.Sprintf("read timeout %s: must not be negative or longer than 1m", o.ReadTimeout)}
	}
	o.RefreshInterval = cmp.Or(o.RefreshInterval, 200*time.Millisecond)
	o.LookTimeout = cmp.Or(o.LookTimeout, 3*time.Second)
	o.FollowInterval = cmp.Or(o.FollowInterval, 200*time.Millisecond)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, DefaultReadTimeout)
	o.EraseWithin = cmp.Or(o.EraseWithin, 10*time.Minute)
	o.JournalAge = cmp.Or(o.JournalAge, 7*24*time.Hour)
	o.JournalChanges = cmp.Or(o.JournalChanges, 1_000_000)
	o.window = cmp.Or(o.window, 50_000)
	o.rebuild = o.rebuild.WithDefaults()
	if o.schemas == nil {
		o.schemas = schema.All()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Pressure == nil {
		o.Pressure = func() library.Pressure { return library.Relaxed }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// connection returns the options of the connection to the cluster.
func (o Options) connection() cluster.Options {
	return cluster.Options{
		URLs: o.URLs, UsernameFile: o.UsernameFile, PasswordFile: o.PasswordFile, CAFile: o.CAFile, Timeout: o.Timeout, Clock: o.Clock,
		Logger: o.Logger, Transport: o.Transport,
	}
}

// checkURL rejects addresses to which items and credentials would be sent unencrypted. It also rejects addresses that contain
// credentials, because credentials must come from files.
func (o Options) checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &OptionsError{"a URL of OpenSearch is not an http or https URL: use https://host:port"}
	}
	if u.User != nil {
		return &OptionsError{fmt.Sprintf("%s contains credentials: remove them, and pass them in files", u.Redacted())}
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return &OptionsError{fmt.Sprintf("%s: must be https://host:port, without a path", address)}
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback(); u.Scheme == "http" && !loopback && !o.AllowHTTP {
		return &OptionsError{fmt.Sprintf("%s is not encrypted: use https, or allow plain HTTP explicitly", address)}
	}
	return nil
}

// OptionsError means that a Library cannot be opened with the given Options.
type OptionsError struct{ Reason string }

// Error returns the reason.
func (e *OptionsError) Error() string { return e.Reason }

// Check returns an *OptionsError if the Options are invalid. It does not read files or connect to the cluster.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}
