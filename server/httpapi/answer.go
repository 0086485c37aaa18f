package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// marshal returns v as JSON. Like package item, it escapes < and >, so that a page can embed the response in a script element. It does not
// escape &, which occurs in every link.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// All callers pass strings, numbers, decoded raw JSON and types made of these, which can always be encoded.
		panic(fmt.Errorf("encode a response: %w", err))
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	out = bytes.ReplaceAll(out, []byte("<"), []byte(`\u003c`))
	return bytes.ReplaceAll(out, []byte(">"), []byte(`\u003e`))
}

// write sends a complete response: status, headers, and the body unless the method is HEAD.
func (x *exchange) write(status int, contentType string, body []byte) {
	if contentType != "" {
		x.set("Content-Type", contentType)
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		x.set("Content-Length", strconv.Itoa(len(body)))
	}
	x.WriteHeader(status)
	if x.r.Method != http.MethodHead && len(body) > 0 {
		x.writeBody(body)
	}
}

// done answers a request that writes: with 201 or 200 and a JSON body, or with 204 and no body.
func (x *exchange) done(status int, body []byte) error {
	x.warn()
	x.Header().Set("Cache-Control", "private, no-store")
	contentType := "application/json"
	if body == nil {
		contentType = ""
	}
	x.write(status, contentType, body)
	return nil
}

// freshness describes how long the response to a GET may be cached.
type freshness struct {
	// never is true for a response that differs on every request.
	never bool
	// expires is the time at which the response may change without a write. Zero means never.
	expires time.Time
}

// show answers a GET with a JSON body. The ETag is a hash of the body.
func (x *exchange) show(body []byte) error {
	return x.showUntil(body, freshness{})
}

// showUntil is like show, for a response with a known freshness.
func (x *exchange) showUntil(body []byte, f freshness) error {
	sum := sha256.Sum256(body)
	return x.showTagged(body, base64.RawURLEncoding.EncodeToString(sum[:16]), f)
}

// showTagged answers a GET with a body whose ETag is known. tag is the ETag without quotes and without the suffix for the content coding.
// If the caller already has the body with this ETag, showTagged sends 304.
func (x *exchange) showTagged(body []byte, tag string, f freshness) error {
	zip := acceptsGzip(x.r.Header)
	if x.unchanged(quoteTag(tag, zip), f) {
		return nil
	}
	if zip {
		body = x.server.gzip.compress(nil, body)
	}
	x.send(body, zip)
	return nil
}

// unchanged sets the headers of the response to a GET. tag is the quoted ETag. If the caller already has the body with this ETag, unchanged
// sends 304 and returns true.
func (x *exchange) unchanged(tag string, f freshness) bool {
	x.warn()
	x.set("Cache-Control", x.cacheControl(f))
	x.set("Etag", tag)
	if !holds(x.r.Header, tag) {
		return false
	}
	x.Header().Del("Link") // the caller's copy already contains the links
	x.write(http.StatusNotModified, "", nil)
	return true
}

// send sends a JSON body that is already in its content coding.
func (x *exchange) send(body []byte, zip bool) {
	if zip {
		x.Header().Set("Content-Encoding", "gzip")
	}
	x.write(http.StatusOK, "application/json", body)
}

// quoteTag returns the ETag for one content coding. Each coding has its own ETag, so the ETag is strong.
func quoteTag(tag string, zip bool) string {
	if zip {
		tag += "-gzip"
	}
	return `"` + tag + `"`
}

// heldTags returns the ETags in If-None-Match. It removes the prefix W/ of weak ETags, because the comparison is weak (RFC 9110, 13.1.2).
func heldTags(h http.Header) []string {
	var tags []string
	for _, line := range h.Values("If-None-Match") {
		for line = strings.TrimLeft(line, " \t,"); line != ""; line = strings.TrimLeft(line, " \t,") {
			if line[0] == '*' {
				tags = append(tags, "*")
				line = line[1:]
				continue
			}
			line = strings.TrimPrefix(line, "W/")
			end := -1
			if strings.HasPrefix(line, `"`) {
				end = strings.IndexByte(line[1:], '"')
			}
			if end < 0 {
				break // not an ETag: the rest cannot be parsed
			}
			tags = append(tags, line[:end+2])
			line = line[end+2:]
		}
	}
	return tags
}

func holds(h http.Header, tag string) bool {
	for _, held := range heldTags(h) {
		if held == "*" || held == tag {
			return true
		}
	}
	return false
}

// These are the cache times of responses for properties that do not set any (docs/http-api.md, "Caching and limits").
const (
	defaultMaxAge = time.Minute
	defaultStale  = 5 * time.Minute
)

// cacheControl returns the Cache-Control value of a response. No cache may store a response to a READ-WRITE caller. Shared caches may store
// a response to a READ-ONLY caller if the token is in the URL, and therefore in the cache key.
func (x *exchange) cacheControl(f freshness) string {
	if x.grant.readWrite || f.never {
		return "private, no-store"
	}
	scope := "public"
	if x.r.Header.Get("Authorization") != "" {
		scope = "private"
	}
	maxAge, stale := defaultMaxAge, defaultStale
	if c := x.settings.Cache; c != nil {
		maxAge, stale = c.MaxAge, c.StaleWhileRevalidate
	}
	if !f.expires.IsZero() {
		maxAge = min(maxAge, max(0, f.expires.Sub(x.server.options.Clock())))
	}
	text := append(make([]byte, 0, 96), scope...)
	text = strconv.AppendInt(append(text, ", max-age="...), int64(maxAge.Seconds()), 10)
	text = strconv.AppendInt(append(text, ", stale-while-revalidate="...), int64(stale.Seconds()), 10)
	text = strconv.AppendInt(append(text, ", stale-if-error="...), int64(stale.Seconds()), 10)
	return string(text)
}

// acceptsGzip reports whether the caller accepts gzip (RFC 9110, 12.5.3).
func acceptsGzip(h http.Header) bool {
	accepted, named := false, false
	for _, line := range h.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			taken := quality(weight) > 0
			switch {
			case name == "gzip" || name == "x-gzip":
				accepted, named = taken, true
			case name == "*" && !named:
				accepted = taken
			}
		}
	}
	return accepted
}

// quality parses the q parameter of a header value. It returns 1 if the value has no q parameter.
func quality(params string) float64 {
	name, value, ok := strings.Cut(strings.TrimSpace(params), "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || math.IsNaN(q) {
		return 0
	}
	return q
}

// gzipPool is a pool of compressors, each of which holds about 200 KiB.
type gzipPool struct{ pool sync.Pool }

func (p *gzipPool) writer(w io.Writer) *gzip.Writer {
	if z, ok := p.pool.Get().(*gzip.Writer); ok {
		z.Reset(w)
		return z
	}
	// Use the fastest level. It already removes most of the redundancy, because items repeat the same member names.
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a package constant
	}
	return z
}

// compress appends the compressed body to dst.
func (p *gzipPool) compress(dst, body []byte) []byte {
	b := bytes.NewBuffer(dst)
	z := p.writer(b)
	// Writes to a buffer do not fail.
	_, _ = z.Write(body)
	_ = z.Close()
	p.pool.Put(z)
	return b.Bytes()
}

const (
	maxWarnings    = 5
	maxWarningText = 300
)

// warn sends a Warning header for each piece of unusual syntax in the request (RFC 7234, 5.5, code 299).
func (x *exchange) warn() {
	for i, w := range x.warnings {
		if i == maxWarnings {
			break
		}
		text := clip(x.redact(w.Code+": "+w.Message), maxWarningText)
		x.Header().Add("Warning", "299 vitrine "+quotedString(text))
	}
}

// quotedString formats a header value as a quoted string. It replaces non-ASCII and control characters, and escapes quotes and backslashes.
func quotedString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r > '~':
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
