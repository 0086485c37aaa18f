// Package client is the Go client that the commands use for a content library's HTTP interface: the items of filters, explanations,
// comparisons and counts, bulk import and export.
//
// Invariants: the client sends the token only in the Authorization header, never in a URL, and no error contains the token. The client
// follows no redirects, so it sends the token to no other host. It accepts a plain http URL only for the local machine. It retries a call
// only if the retry cannot apply the call twice.
//
// Comments name the section of the specification "Content Library Interface" that describes a type or a call, or say "extension" if the
// specification does not contain it.
//
// This package may import server/item and internal/text.
package client

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options configures a Client.
type Options struct {
	// Server is the base URL, such as https://content.shop.example:8443. If the URL has a path, the paths of all requests begin with it.
	// Required. Plain http is accepted only for the local machine, because it would expose the token to the network.
	Server string
	// Token is the access token. It determines the property and the permitted operations. Required.
	Token string
	// RootCAs are the certificate authorities that may sign the server's certificate. nil means the certificate authorities of the system.
	RootCAs *x509.CertPool
	// Transport, if set, replaces the default transport, for tests and proxies. A client with a Transport ignores RootCAs. Default: none.
	Transport http.RoundTripper
	// Wait pauses for d between attempts. If ctx ends during the pause, Wait returns the error of ctx immediately. Default: a timer.
	Wait func(ctx context.Context, d time.Duration) error
	// UserAgent is the User-Agent header of each call. Default: "vitrine-client".
	UserAgent string
}

// Client accesses one property of one server. It is safe for concurrent use.
type Client struct {
	base      *url.URL
	token     string
	http      *http.Client
	wait      func(context.Context, time.Duration) error
	userAgent string
}

// New returns a client. It fails if an option is invalid. It does not connect to the server.
func New(o Options) (*Client, error) {
	base, err := parseServer(o.Server)
	if err != nil {
		return nil, err
	}
	if o.Token == "" {
		return nil, errors.New("no access token given")
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the access token contains white space or invalid characters: pass only the token, in one line")
	}
	c := &Client{base: base, token: o.Token, wait: o.Wait, userAgent: o.UserAgent}
	if c.wait == nil {
		c.wait = wait
	}
	if c.userAgent == "" {
		c.userAgent = "vitrine-client"
	}
	transport := o.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:       &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: 2 * time.Minute,
			IdleConnTimeout:       30 * time.Second,
			ForceAttemptHTTP2:     true,
		}
	}
	c.http = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

func parseServer(s string) (*url.URL, error) {
	if s == "" {
		return nil, errors.New("no server given")
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("server address %q: must be https://host[:port], or http://host[:port] on this machine, without user, query or fragment", redact(s))
	}
	switch u.Scheme {
	case "https":
	case "http":
		if !isLoopback(u.Hostname()) {
			return nil, fmt.Errorf("server address %q: plain http would expose the access token to the network; use https", s)
		}
	default:
		return nil, fmt.Errorf("server address %q: must be https://host[:port], or http://host[:port] on this machine", s)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// redact removes the parts of an invalid URL that may contain a token or a password.
func redact(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = "…" + s[i:]
	}
	return s
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Server returns the base URL, without a trailing slash.
func (c *Client) Server() string { return c.base.String() }

// Identity returns a digest of the token. The same token always has the same digest, and the digest reveals nothing about the token.
func (c *Client) Identity() string {
	sum := sha256.Sum256([]byte("vitrine client\x00" + c.token))
	return hex.EncodeToString(sum[:])
}

// call describes one request.
type call struct {
	// path starts with a slash. Its segments are escaped.
	path  string
	query url.Values
	// trailer is true to request the trailer of the response.
	trailer bool
}

// get sends a GET request, and retries it. It decodes the JSON response into out.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	resp, err := c.send(ctx, call{path: path, query: query}) //nolint:bodyclose // drain closes it
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	if err := json.NewDecoder(received{resp.Body}).Decode(out); err != nil {
		return fmt.Errorf("read the response to GET %s: %w", path, err)
	}
	return nil
}

// errBroken means that the connection broke in the middle of a response. How HTTP/1.1 and HTTP/2 report this differs.
var errBroken = errors.New("the response is incomplete")

// received is the body of a response. Its errors are errBroken.
type received struct{ io.Reader }

func (r received) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return n, err
}

// attempts is the maximum number of times that a call is sent.
const attempts = 4

// send returns the first successful response to a GET request, which it retries: a repeated request has no other effect. The caller must
// close the body.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		resp, err := c.once(ctx, http.MethodGet, k, nil, 0)
		if err == nil {
			return resp, nil
		}
		if attempt >= attempts || ctx.Err() != nil || fateOf(err) == final {
			return nil, err
		}
		if werr := c.wait(ctx, pause(attempt, err)); werr != nil {
			return nil, err
		}
	}
}

// once sends a call without retries. For a status other than 2xx, it returns a *Problem. If it gets no response, it returns a *url.Error.
func (c *Client) once(ctx context.Context, method string, k call, body io.Reader, length int64) (*http.Response, error) {
	target := c.base.String() + k.path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return nil, fmt.Errorf("create the request: %w", err)
	}
	if length > 0 {
		req.Body, req.ContentLength = io.NopCloser(body), length
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("User-Agent", c.userAgent)
	if k.trailer {
		req.Header.Set("TE", "trailers")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		defer drain(resp.Body)
		return nil, problemOf(resp)
	}
	return resp, nil
}

// drain reads the rest of the body up to a limit, so that the connection can be reused, and closes the body.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	body.Close()
}

// fate is the possible effect of a failed request.
type fate uint8

const (
	// final means that a retry would fail in the same way.
	final fate = iota
	// refused means that the request had no effect, and the server may accept it later.
	refused
	// unknown means that the request may have taken effect.
	unknown
)

func fateOf(err error) fate {
	if p, ok := errors.AsType[*Problem](err); ok {
		switch {
		case p.Status == http.StatusTooManyRequests, p.Status == http.StatusServiceUnavailable && p.Documented:
			return refused
		case p.Status >= 502 && p.Status <= 504: // from a proxy that cannot reach the server
			return unknown
		}
		return final
	}
	if errors.Is(err, context.Canceled) {
		return final
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return final
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return refused
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return unknown
	}
	return final
}

// pause returns the delay after the attempt that failed with err. If the server asked for a delay, pause returns that delay. Otherwise, the
// delay is half a second, doubled with each attempt up to 30 s, and varied by ±20 %, so that clients do not all retry at once.
func pause(attempt int, err error) time.Duration {
	if p, ok := errors.AsType[*Problem](err); ok && p.RetryAfter > 0 {
		return p.RetryAfter
	}
	d := min(500*time.Millisecond<<min(attempt-1, 10), 30*time.Second)
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// path joins escaped segments into a path.
func path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
