package server

import (
	"context"
	"log/slog"
	"net"
	"net/url"

	"github.com/vitrine-dev/vitrine/internal/servingcert"
)

// reachedAt returns the names and addresses at which clients reach a listener: loopback, the host of the external URL if there is one, and
// the IP address of the listener unless that is the unspecified address.
func reachedAt(address, external string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if u, err := url.Parse(external); err == nil && u.Hostname() != "" {
		hosts = append(hosts, u.Hostname())
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() && !ip.IsLoopback() {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// renew returns a background task that renews a certificate of the server before it expires.
func renew(source *servingcert.Source, of string, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		source.Run(ctx, func(renewed bool, err error) {
			if err != nil {
				log.Error("renewing the certificate failed; the current one stays in use", "of", of, "error", err)
			} else if renewed {
				log.Info("certificate renewed", "of", of)
			}
		})
		return nil
	}
}
