package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// exchange is one request and its answer. It is the http.ResponseWriter that the mux sees.
type exchange struct {
	http.ResponseWriter
	server *Server
	r      *http.Request
	id     string
	began  time.Time
	// presented are the tokens that came with the request, valid or not; they are kept to keep them out of what is said.
	presented []string
	resource  *resource
	route     route
	params    url.Values
	// prefix is the path of the base URL once linkTo has looked for it.
	prefix struct {
		known bool
		path  string
	}
	// badParams says why not all of the URL's query part is in params.
	badParams error

	// token is the value that grant was found by; both are zero where the endpoint needs none.
	token    string
	grant    grant
	settings library.Property
	warnings []query.Warning

	status int
	bytes  int64
	// lost is the first error of a write to the caller, which hung up or stopped reading.
	lost error
	// values are where set keeps the values of headers; room is the memory of most answers' ones.
	values []string
	room   [10]string
}

// set puts a header of every answer. The name has to be in its canonical form. It does what http.Header.Set does without
// memory of its own for each value.
func (x *exchange) set(name, value string) {
	at := len(x.values)
	x.values = append(x.values, value)
	x.Header()[name] = x.values[at : at+1 : at+1]
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, server: s, began: s.options.Clock()}
	x.values = x.room[:0]
	// What cannot be decoded is refused later; what could be decoded of it may hold a token all the same.
	x.params, x.badParams = url.ParseQuery(r.URL.RawQuery)
	x.presented = presentedTokens(r, x.params)
	x.id = requestID(r, x.presented)
	// The URL is changed on the way to its route; the caller's request stays as it is.
	own := *r
	u := *r.URL
	own.URL, x.r = &u, &own
	s.metrics.begin()
	defer x.end()

	x.set("X-Request-Id", x.id)
	x.set("X-Content-Type-Options", "nosniff")
	x.set("Vary", "Accept-Encoding, Origin, Authorization")
	if s.options.Version != "" {
		x.set("Server", s.name)
	}
	if !plainPath(x.r) {
		x.serve(nil, x.r)
		return
	}
	s.mux.ServeHTTP(x, x.r)
}

// serve answers a request for a resource, nil for an unknown path.
func (x *exchange) serve(res *resource, r *http.Request) {
	x.r, x.resource = r, res
	if err := x.answer(); err != nil {
		x.fail(err)
	}
}

// answer leads the request through everything that comes before its handler. The order is the order in which a caller
// is told: what does not exist, who may ask, whether the property serves, whether there is quota, and what the class of
// the token allows.
func (x *exchange) answer() error {
	if x.resource == nil {
		return absent("no endpoint has this path: /openapi.json describes all of them")
	}
	if x.r.Method == http.MethodOptions {
		return x.options()
	}
	if x.resource.anyPage {
		x.exposeTo(everyOrigin)
	}
	var ok bool
	if x.route, ok = x.resource.byVerb[x.r.Method]; !ok {
		return &problem{Type: methodNotAllowed, allow: x.resource.allow, Detail: "this path answers " + x.resource.allow}
	}
	if x.badParams != nil {
		return &problem{Type: invalidParameter, Detail: "the query part of the URL cannot be decoded: percent-encode what is not plain text, semicolons included"}
	}
	if x.route.access.needsToken() {
		if err := x.admit(); err != nil {
			return err
		}
	}
	return x.route.handle(x.server, x)
}

// admit finds the token and checks everything that depends on it.
func (x *exchange) admit() error {
	if err := x.authenticate(); err != nil {
		return err
	}
	if err := x.allowOrigin(); err != nil {
		return err
	}
	if m := x.settings.Maintenance; m != nil {
		return underMaintenance(m)
	}
	if err := x.grant.allowance.take(x.server.options.Clock(), x.settings, x.Header()); err != nil {
		return err
	}
	return x.authorize()
}

func underMaintenance(m *library.Maintenance) error {
	p := &problem{Type: maintenance, Detail: m.Message, retryAfter: m.RetryAfter}
	if p.Detail == "" {
		p.Detail = "this property is under maintenance: come again later"
	}
	p.retryAfter = max(p.retryAfter, time.Second)
	return p
}

// audience is who the answer is for.
func (x *exchange) audience() query.Audience {
	if x.grant.readWrite {
		return query.Private
	}
	return query.Public
}

// statusHungUp is what the log and the metrics show when the caller hung up before the answer began. HTTP has no status for
// it; 499 is what nginx logs.
const statusHungUp = 499

// hungUp reports whether err only says that the caller is gone.
func (x *exchange) hungUp(err error) bool {
	return x.lost != nil || errors.Is(err, context.Canceled) && x.r.Context().Err() != nil
}

// fail answers with an error, and logs it where the server is at fault.
func (x *exchange) fail(err error) {
	if x.hungUp(err) {
		x.server.options.Logger.InfoContext(x.r.Context(), "the caller hung up", "request", x.id, "route", x.routeName(), "error", x.redact(err.Error()))
		if x.status == 0 {
			x.status = statusHungUp
		}
		panic(http.ErrAbortHandler)
	}
	p := problemOf(err)
	if p.Type == internal && p.Detail != err.Error() {
		x.server.options.Logger.ErrorContext(x.r.Context(), "request failed", "request", x.id, "route", x.routeName(), "error", x.redact(err.Error()))
	}
	x.logDisk(err)
	if x.status != 0 {
		// A part of the answer is out already: the caller has to see that the rest is missing.
		panic(http.ErrAbortHandler)
	}
	h := x.Header()
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(seconds(p.retryAfter.Seconds())))
	}
	h.Set("Cache-Control", "private, no-store")
	for _, name := range []string{"ETag", "Location", "Link"} {
		h.Del(name)
	}
	x.write(p.status(), "application/problem+json", marshal(p.document(x.redact)))
}

// logDisk tells the log of an error that comes of a full disk: it names the file that could not be written, and with it the
// directory, which is nothing for callers.
func (x *exchange) logDisk(err error) {
	if diskFull(err) {
		x.server.options.Logger.WarnContext(x.r.Context(), "a write was refused, as the disk of the data directory is full",
			"request", x.id, "route", x.routeName(), "error", x.redact(err.Error()))
	}
}

// end logs and counts the request. A panic becomes a 500, or ends the connection where the answer has begun.
func (x *exchange) end() {
	cause := recover()
	err, _ := cause.(error)
	if cause != nil && !errors.Is(err, http.ErrAbortHandler) {
		x.server.options.Logger.ErrorContext(x.r.Context(), "panic", "request", x.id, "route", x.routeName(),
			"panic", hide(x.redact(fmt.Sprint(cause))), "stack", string(debug.Stack()))
		if x.status == 0 {
			cause = nil
			x.fail(&problem{Type: internal, Detail: internalDetail})
		} else {
			cause = http.ErrAbortHandler
		}
	}
	elapsed := x.server.options.Clock().Sub(x.began)
	x.server.metrics.end(x.routeName(), x.r.Method, tokenClass(x.grant), x.status, elapsed)
	x.log(elapsed)
	if cause != nil {
		panic(cause)
	}
}

// log writes the request's line. The record is made by hand, as a Logger would first look for the line of code that calls
// it, which is a good part of what the line costs and is the same for each.
func (x *exchange) log(elapsed time.Duration) {
	ctx, h := x.r.Context(), x.server.options.Logger.Handler()
	if !h.Enabled(ctx, slog.LevelInfo) {
		return
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
	r.AddAttrs(
		slog.String("request", x.id), slog.String("method", x.r.Method), slog.String("path", hide(x.redact(x.r.URL.Path))),
		slog.String("query", x.redact(loggable(x.params))), slog.String("route", x.routeName()),
		slog.Int("status", x.status), slog.Int64("bytes", x.bytes), slog.Duration("elapsed", elapsed),
		slog.String("property", string(x.grant.property)), slog.String("token", tokenName(x.grant)))
	_ = h.Handle(ctx, r) // a log that cannot be written has nobody to tell
}

// routeName is the path of the endpoint with its placeholders: the same for every item, and so fit for a metric.
func (x *exchange) routeName() string {
	if x.resource == nil {
		return "unknown"
	}
	return x.resource.path
}

// redact takes the caller's tokens out of a text, parts of them too: an error may show an excerpt of what was sent.
func (x *exchange) redact(text string) string {
	for _, token := range x.presented {
		text = redactParts(text, token)
	}
	return text
}

// tellingPart is how many characters of a token may not stand in a row in what is said. Tokens have at least 32.
const tellingPart = 8

func redactParts(text, token string) string {
	if len(token) < tellingPart || !mayShare(text, token) {
		return text
	}
	// One pass over each: this runs on what anybody sends, before it is known whether the token is any good.
	parts := make(map[string]bool, len(token))
	for i := 0; i+tellingPart <= len(token); i++ {
		parts[token[i:i+tellingPart]] = true
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		n := 0
		for i+n+tellingPart <= len(text) && parts[text[i+n:i+n+tellingPart]] {
			n++
		}
		if n > 0 {
			b.WriteString("[token]")
			i += n + tellingPart - 1
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// mayShare reports false where nothing of tellingPart characters can stand in both: each such part of the text has four in
// a row that begin at a multiple of five.
func mayShare(text, token string) bool {
	const part, step = 4, tellingPart - 4 + 1
	for i := 0; i+part <= len(text); i += step {
		if strings.Contains(token, text[i:i+part]) {
			return true
		}
	}
	return false
}

// WriteHeader notes the status on its way out.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write notes the length on its way out.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(b)
	x.bytes += int64(n)
	if err != nil && x.lost == nil {
		x.lost = err
	}
	return n, err
}

// Unwrap lets http.ResponseController find the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }
