package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Policy decides to which hosts a delivery may go. The zero Policy permits https URLs whose hosts have public addresses.
type Policy struct {
	hosts    []string
	prefixes []netip.Prefix
}

// ParsePolicy returns the Policy that also permits the given names of hosts, IP addresses and CIDR ranges, and http for them.
func ParsePolicy(allowed []string) (Policy, error) {
	var p Policy
	for _, text := range allowed {
		prefix, err := netip.ParsePrefix(text)
		if address, failed := netip.ParseAddr(text); failed == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		switch {
		case err == nil:
			p.prefixes = append(p.prefixes, prefix.Masked())
		case text == "" || strings.ContainsAny(text, "/:*@? "):
			return Policy{}, fmt.Errorf("%q is not the name of a host, an IP address or a CIDR range", text)
		default:
			p.hosts = append(p.hosts, strings.ToLower(text))
		}
	}
	return p, nil
}

// errRefused means that the Policy does not permit a URL or an address. Its text does not contain the address, because the author of a
// Webhook need not be allowed to resolve names in the network of the server.
type errRefused struct{ problem string }

func (e errRefused) Error() string { return e.problem }

// named reports whether the name of a host is permitted, whatever its addresses are.
func (p Policy) named(host string) bool { return slices.Contains(p.hosts, strings.ToLower(host)) }

// checkURL refuses http, unless the host is permitted by its name or address.
func (p Policy) checkURL(u *url.URL) error {
	if u.Scheme == "https" || p.named(u.Hostname()) {
		return nil
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil && p.listed(address.Unmap()) {
		return nil
	}
	return errRefused{"the URL has the scheme http, which --webhook-allow-host does not permit for this host"}
}

func (p Policy) listed(address netip.Addr) bool {
	return slices.ContainsFunc(p.prefixes, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}

// allocated contains the IPv6 addresses of the public internet. Others can contain an IPv4 address that a gateway translates them to, such as
// those of NAT64 (64:ff9b::/96) and SIIT (::ffff:0:0:0/96).
var allocated = netip.MustParsePrefix("2000::/3")

// special are the ranges of addresses that are not on the public internet, in addition to those that netip.Addr knows and to the IPv6
// addresses outside allocated, and the ranges within it whose addresses contain an IPv4 address.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // shared address space of carriers (CGNAT)
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, such as Teredo
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4
	netip.MustParsePrefix("3fff::/20"),       // documentation
}

// permits reports whether a connection may go to an address.
func (p Policy) permits(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if p.listed(address) {
		return true
	}
	return (address.Is4() || allocated.Contains(address)) && address.IsGlobalUnicast() && !address.IsPrivate() &&
		!slices.ContainsFunc(special, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}

// control checks the address of a connection after the name of the host was resolved, and before anything is sent.
func (p Policy) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err != nil || !p.permits(at.Addr()) {
		return errRefused{"the host has an address that is not public, and --webhook-allow-host does not permit it"}
	}
	return nil
}

// Limits of a delivery.
const (
	timeout      = 15 * time.Second
	maxHeader    = 16 << 10
	maxBody      = 4 << 10
	idleTimeout  = time.Minute
	maxIdleConns = 100
)

// client returns an HTTP client that connects only to permitted addresses. It follows no redirects, and uses no proxy, because a proxy would
// resolve the name of the host itself.
func (p Policy) client() *http.Client {
	plain := &net.Dialer{Timeout: timeout}
	checked := &net.Dialer{Timeout: timeout, ControlContext: p.control}
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				host, _, err := net.SplitHostPort(address)
				if err == nil && p.named(host) {
					return plain.DialContext(ctx, network, address)
				}
				return checked.DialContext(ctx, network, address)
			},
			ForceAttemptHTTP2: true, TLSHandshakeTimeout: timeout, MaxResponseHeaderBytes: maxHeader,
			IdleConnTimeout: idleTimeout, MaxIdleConns: maxIdleConns, MaxIdleConnsPerHost: 1,
		},
	}
}

// explain describes the error of a request for the status of the webhook. It contains no address and nothing that the receiver sent.
func explain(err error) (result Result, problem string) {
	var refused errRefused
	var name *net.DNSError
	var timed net.Error
	switch {
	case errors.As(err, &refused):
		return Refused, refused.problem
	case errors.As(err, &name):
		return Failed, "the name of the host cannot be resolved"
	case errors.As(err, &timed) && timed.Timeout():
		return Failed, fmt.Sprintf("the receiver did not respond within %v", timeout)
	case certificateError(err):
		return Failed, "the certificate of the receiver is not valid"
	}
	return Failed, "the receiver cannot be reached"
}
