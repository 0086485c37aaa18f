// Package message words errors for users, in one line that says what is wrong and what to do. It knows the errors of the operating system,
// of the network, of the Kubernetes API and of the Go client. It imports internal/text and server/client.
package message

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/client"
)

// OneLine formats an error as one line for a terminal or a log. It words the errors of the system, the network and libraries in terms of
// the user. It omits repeated lines, because each part of a failed database reports the same error.
func OneLine(err error) string {
	var parts []string
	for line := range strings.Lines(reworded(err)) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.ContainsFunc(parts, func(said string) bool { return strings.HasSuffix(said, line) }) {
			parts = append(parts, line)
		}
	}
	return text.Visible(strings.Join(parts, "; ")) // an error can quote content, which can contain control characters
}

// Retrying says that a command repeats a request after an error and a delay.
func Retrying(err error, in time.Duration) string {
	return fmt.Sprintf("%s; retrying in %s", OneLine(err), in.Round(100*time.Millisecond))
}

// reworded returns the text of an error. It replaces the texts of the errors in its tree for which words has other words.
func reworded(err error) string {
	if w := words(err); w != "" {
		return w
	}
	said := err.Error()
	replace := func(inner error) { said = strings.Replace(said, inner.Error(), reworded(inner), 1) }
	switch e := err.(type) { //nolint:errorlint // this function walks the tree
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			replace(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			replace(inner)
		}
	}
	return said
}

// words returns what is wrong and what to do, or "" for an error whose own text says so. It does not look at the errors that err wraps,
// except for the cause of a failed connection.
func words(err error) string {
	switch e := err.(type) { //nolint:errorlint // reworded walks the tree
	case *fs.PathError:
		return pathWords(e.Path, e.Err)
	case *url.Error:
		return connectionWords(e.URL, e.Err)
	case *tls.CertificateVerificationError:
		return connectionWords("the server", e)
	case *net.OpError:
		if e.Op == "dial" && e.Addr != nil {
			return connectionWords(e.Addr.String(), e)
		}
	case *client.Problem:
		return problemWords(e)
	case *apierrors.StatusError:
		switch {
		case apierrors.IsUnauthorized(e):
			return "the cluster does not accept your credentials: log in to the cluster again, or select others with --kubeconfig or --context"
		case apierrors.IsForbidden(e):
			return e.Error() + ": ask an administrator of the cluster for this permission"
		}
	}
	return ""
}

// pathWords words an error about a file or a directory.
func pathWords(name string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return name + " does not exist: check the path"
	case errors.Is(err, fs.ErrPermission):
		return name + ": permission denied: check the owner and the mode of the file and of its directories"
	case errors.Is(err, syscall.EISDIR):
		return name + " is a directory: name a file"
	case errors.Is(err, syscall.ENOTDIR):
		return name + ": a part of the path is not a directory: check the path"
	}
	return ""
}

// connectionWords words an error of a connection to an address, which can be a URL.
func connectionWords(address string, err error) string {
	if socket := (*net.OpError)(nil); errors.As(err, &socket) && socket.Net == "unix" {
		return fmt.Sprintf("cannot connect to the socket of the server, %s (%s): check --data-dir, and run the command as the user of the server",
			socket.Addr, cause(err))
	}
	if u, parsed := url.Parse(address); parsed == nil && u.Host != "" {
		address = u.Scheme + "://" + u.Host
	}
	ofCluster := errors.As(err, new(*ClusterError))
	what, check := address, "check the address, and that the server runs"
	if ofCluster {
		what, check = "the cluster at "+address, "check --kubeconfig and --context, and that the cluster runs"
	}
	invalid := x509.CertificateInvalidError{}
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, http.ErrSchemeMismatch):
		check = "the server speaks HTTP and not HTTPS, so use http://, which is possible only on the machine of the server"
	case errors.As(err, new(x509.UnknownAuthorityError)) && ofCluster:
		check = "check the certificate authority in the kubeconfig"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		check = "pass the server's ca.crt with --ca-file"
	case errors.As(err, new(x509.HostnameError)):
		check = "use a host name from the certificate, or start the server with --tls-hosts to add the host name that you used"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		check = "renew the certificate of the server, or set the clock of this machine"
	}
	return fmt.Sprintf("cannot reach %s (%s): %s", what, cause(err), check)
}

// cause names the cause of a failed connection.
func cause(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "there is no host " + dns.Name
	case errors.As(err, &dns):
		return "the name of the host " + dns.Name + " cannot be resolved"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no response in time"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection broke"
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return strings.TrimPrefix(err.Error(), "x509: ")
}

// problemWords adds what to do to a response of the server.
func problemWords(p *client.Problem) string {
	switch {
	case path.Base(p.Type) == "token-refused":
		return p.Error() + ": pass the current value of an AccessToken with --token-file or VITRINE_TOKEN"
	case path.Base(p.Type) == "class-refused":
		return p.Error() + ": use a READ-WRITE token of the property"
	case p.Documented && strings.Contains(p.Detail, "no endpoint has this path"):
		return p.Error() + ": specify the base URL of the server, such as https://content.shop.example, without an API path such as /v2"
	}
	return ""
}

// ClusterError is an error of a connection to a cluster.
type ClusterError struct{ Err error }

func (e *ClusterError) Error() string { return e.Err.Error() }
func (e *ClusterError) Unwrap() error { return e.Err }
