package console

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxAttempts is the maximum number of failed logins of one client within attemptWindow.
	maxAttempts   = 20
	attemptWindow = time.Minute
	// maxClients is the maximum number of clients that have their own counter. All other clients share one counter.
	maxClients = 10_000
)

// attempts counts failed logins by client. The zero value is empty.
type attempts struct {
	mu     sync.Mutex
	since  time.Time
	counts map[netip.Prefix]int
}

// clientOf returns the client of a request. The client is an IPv4 address, or the /64 network of an IPv6 address, because one client can
// use a whole network. All clients behind a proxy count as one client, because a client could forge a header with its address.
func clientOf(r *http.Request) netip.Prefix {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked()
}

// exceeded reports whether a client has exceeded the limit and has to wait.
func (a *attempts) exceeded(client netip.Prefix, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[a.key(client, now)] >= maxAttempts
}

// failed counts a failed login.
func (a *attempts) failed(client netip.Prefix, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[a.key(client, now)]++
}

// key returns the key of a client in counts. If the last window has ended, it first begins a new window.
func (a *attempts) key(client netip.Prefix, now time.Time) netip.Prefix {
	if a.counts == nil || now.Sub(a.since) >= attemptWindow {
		a.since, a.counts = now, map[netip.Prefix]int{}
	}
	if _, known := a.counts[client]; !known && len(a.counts) >= maxClients {
		return netip.Prefix{}
	}
	return client
}
