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
	"github.com/vitrine-dev/vitrine/server/problems"
	"github.com/vitrine-dev/vitrine/server/query"
)

// exchange is one request and its response. It is the http.ResponseWriter that the mux receives.
type exchange struct {
	http.ResponseWriter
	server *Server
	r      *http.Request
	id     string
	began  time.Time
	// presented contains all tokens of the request, valid or not, so that redact can remove them from responses and logs.
	presented []string
	resource  *resource
	route     route
	params    url.Values
	// prefix caches the path of the base URL for linkTo.
	prefix struct {
		known bool
		path  string
	}
	// badParams is the error of decoding the query part of the URL, or nil. If it is not nil, params lacks what could not be decoded.
	badParams error

	// person is the person who sends the request, or zero if the caller has a token (see WithPerson).
	person Person
	// token is the token value that grant belongs to. Both are zero if the endpoint needs no token. token is "" for a person.
	token    string
	grant    grant
	settings library.Property
	// scope limits the items that exist for the caller. nil means all items of the property.
	scope    *library.TokenScope
	warnings []query.Warning
	// shown names the filter or the item that the response shows, for its cache tags. It is zero for other responses.
	shown shown

	// reserved is the number of bytes that reserve has taken.
	reserved int64

	status int
	bytes  int64
	// lost is the first error of a write to the caller. It means that the caller disconnected or stopped reading.
	lost error
	// values contains the header values that set has set. room is the initial memory of values, large enough for most responses.
	values []string
	room   [13]string
}

// set sets a header whose name is in canonical form. It works like http.Header.Set, but does not allocate for each value.
func (x *exchange) set(name, value string) {
	at := len(x.values)
	x.values = append(x.values, value)
	x.Header()[name] = x.values[at : at+1 : at+1]
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, server: s, began: s.options.Clock()}
	x.values = x.room[:0]
	// Ignore the error here: answer refuses a query part that cannot be decoded. The decoded part may still contain a token, which must be
	// found.
	x.params, x.badParams = url.ParseQuery(r.URL.RawQuery)
	x.presented = presentedTokens(r, x.params)
	x.person, _ = r.Context().Value(personKey{}).(Person)
	x.id = requestID(r, x.presented)
	// Copy the request, because routing changes its URL, and the request of the caller must stay unchanged.
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

// serve answers a request for a resource. res is nil if the path is unknown.
func (x *exchange) serve(res *resource, r *http.Request) {
	x.r, x.resource = r, res
	if err := x.answer(); err != nil {
		x.fail(err)
	}
}

// answer checks the request and, if no check fails, runs the handler. The order of the checks is part of the interface: first the existence
// of the endpoint, then authentication, the state of the property, the rate limit, and the class of the token.
func (x *exchange) answer() error {
	if x.resource == nil {
		return absent("no endpoint has this path: /openapi.json describes all endpoints")
	}
	if x.r.Method == http.MethodOptions {
		return x.options()
	}
	if x.resource.anyPage {
		x.exposeTo(everyOrigin)
	}
	var ok bool
	if x.route, ok = x.resource.byVerb[x.r.Method]; !ok {
		return &problem{Type: problems.MethodNotAllowed, allow: x.resource.allow, Detail: "this path supports only the methods " + x.resource.allow}
	}
	if x.badParams != nil {
		return &problem{Type: problems.InvalidParameter, Detail: "the query part of the URL cannot be decoded: percent-encode all special characters, including semicolons"}
	}
	if x.route.access.needsToken() {
		if err := x.admit(); err != nil {
			return err
		}
	}
	return x.route.handle(x.server, x)
}

// admit finds the token, and runs all checks that depend on it.
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
	p := &problem{Type: problems.Maintenance, Detail: m.Message, retryAfter: m.RetryAfter}
	if p.Detail == "" {
		p.Detail = "this property is under maintenance: retry later"
	}
	p.retryAfter = max(p.retryAfter, time.Second)
	return p
}

// audience returns the audience of the response.
func (x *exchange) audience() query.Audience {
	if x.grant.rights.Allows(library.ReadPrivate) {
		return query.Private
	}
	return query.Public
}

// seen returns r, limited to what the caller may see, with the base URL of links.
func (x *exchange) seen(r library.Read) library.Read {
	r.Property, r.Audience, r.Scope, r.BaseURL = x.grant.property, x.audience(), x.scope, x.baseURL()
	return r
}

// narrowed reports whether the token limits which items exist for the caller, or which filters the caller may list. No header of the
// response may then depend on the other items.
func (x *exchange) narrowed() bool { return x.scope != nil || x.grant.restricted() }

// foreign reports whether the caller must not learn the names of manifests in a namespace. If the manifest of its token is in another
// namespace than the Property, the caller learns only the names in that namespace.
func (x *exchange) foreign(namespace string) bool {
	return x.grant.rights.Guest && namespace != x.grant.owner.Namespace
}

// shownOwner returns the owner of a definition without the names that the caller must not learn.
func (x *exchange) shownOwner(o library.Owner) library.Owner {
	if x.foreign(o.Namespace) {
		return library.Owner{Kind: o.Kind, Namespace: "-", Name: "-"}
	}
	return o
}

// problemOf returns the problem for an error, without what the caller must not learn.
func (x *exchange) problemOf(err error) *problem {
	if e, ok := errors.AsType[*library.ManagedError](err); ok {
		err = &library.ManagedError{Owner: x.shownOwner(e.Owner)}
	}
	return problemOf(x.hideScope(err))
}

// statusHungUp is the logged status of a request whose caller disconnected before the response began. HTTP has no status for this case.
// nginx also logs 499.
const statusHungUp = 499

// hungUp reports whether err occurred because the caller disconnected.
func (x *exchange) hungUp(err error) bool {
	return x.lost != nil || errors.Is(err, context.Canceled) && x.r.Context().Err() != nil
}

// fail answers the request with an error. It logs the error if the server is at fault.
func (x *exchange) fail(err error) {
	if x.hungUp(err) {
		x.server.options.Logger.InfoContext(x.r.Context(), "the caller closed the connection", "request", x.id, "route", x.routeName(), "error", x.redact(err.Error()))
		if x.status == 0 {
			x.status = statusHungUp
		}
		panic(http.ErrAbortHandler)
	}
	p := x.problemOf(err)
	if p.Type == problems.Internal && p.Detail != err.Error() {
		x.server.options.Logger.ErrorContext(x.r.Context(), "request failed", "request", x.id, "route", x.routeName(), "error", x.redact(err.Error()))
	}
	x.logDisk(err)
	if x.status != 0 {
		// A part of the response has already been sent. Abort the connection, so that the caller can see that the rest is missing.
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
	x.write(p.Type.Status, problems.MediaType, marshal(p.document(x.redact)))
}

// logDisk logs an error that a full disk caused. The log contains the path of the file, which callers must not see.
func (x *exchange) logDisk(err error) {
	if diskFull(err) {
		x.server.options.Logger.WarnContext(x.r.Context(), "a write was refused, because the disk of the data directory is full",
			"request", x.id, "route", x.routeName(), "error", x.redact(err.Error()))
	}
}

// end logs and counts the request. If the handler panicked, end answers with status 500, or aborts the connection if the response has
// begun.
func (x *exchange) end() {
	cause := recover()
	err, _ := cause.(error)
	if cause != nil && !errors.Is(err, http.ErrAbortHandler) {
		x.server.options.Logger.ErrorContext(x.r.Context(), "panic", "request", x.id, "route", x.routeName(),
			"panic", hide(x.redact(fmt.Sprint(cause))), "stack", string(debug.Stack()))
		if x.status == 0 {
			cause = nil
			x.fail(&problem{Type: problems.Internal, Detail: internalDetail})
		} else {
			cause = http.ErrAbortHandler
		}
	}
	elapsed := x.server.options.Clock().Sub(x.began)
	x.server.metrics.end(x.routeName(), x.r.Method, tokenClass(x.grant), tokenScope(x.grant, x.settings), x.status, elapsed)
	x.log(elapsed)
	if cause != nil {
		panic(cause)
	}
}

// log writes the line of the access log. It builds the record directly, because a Logger would first look up the source line of its caller.
// That line is always the same, and looking it up is expensive.
func (x *exchange) log(elapsed time.Duration) {
	ctx, h := x.r.Context(), x.grant.log
	if h == nil {
		h = x.server.noToken
	}
	if !h.Enabled(ctx, slog.LevelInfo) {
		return
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
	r.AddAttrs(
		slog.String("request", x.id), slog.String("method", x.r.Method), slog.String("path", hide(x.redact(x.r.URL.Path))),
		slog.String("query", x.redact(loggable(x.params))), slog.String("route", x.routeName()),
		slog.Int("status", x.status), slog.Int64("bytes", x.bytes), slog.Duration("elapsed", elapsed))
	if x.person.User != "" {
		r.AddAttrs(slog.String("user", x.person.User))
	}
	_ = h.Handle(ctx, r) // a failure of the log cannot be reported anywhere
}

// routeName returns the path of the endpoint with placeholders. The path is the same for every item, so metrics can use it as a label.
func (x *exchange) routeName() string {
	if x.resource == nil {
		return "unknown"
	}
	return x.resource.path
}

// redact removes the caller's tokens from a text. It also removes parts of tokens, because an error may quote an excerpt of the request.
func (x *exchange) redact(text string) string {
	for _, token := range x.presented {
		text = redactParts(text, token)
	}
	return text
}

// tellingPart is the length of the shortest part of a token that redact removes. Tokens have at least 32 characters.
const tellingPart = 8

func redactParts(text, token string) string {
	if len(token) < tellingPart || !mayShare(text, token) {
		return text
	}
	// This code takes linear time in the lengths of text and token. That matters, because the input is unauthenticated.
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

// mayShare returns false only if text and token have no run of tellingPart characters in common. Each run of that length contains four
// characters that start at a multiple of five in text, so it is enough to look up these.
func mayShare(text, token string) bool {
	const part, step = 4, tellingPart - 4 + 1
	for i := 0; i+part <= len(text); i += step {
		if strings.Contains(token, text[i:i+part]) {
			return true
		}
	}
	return false
}

// WriteHeader records the status and sends it.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write records the number of bytes and the first error.
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
