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

// marshal returns v as JSON. As in items, < and > are escaped, so that an answer can stand inside a script element of a
// page, and & is left alone, which fills every link.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// Only own types of strings, numbers and raw JSON that was decoded before come here.
		panic(fmt.Errorf("encode an answer: %w", err))
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	out = bytes.ReplaceAll(out, []byte("<"), []byte(`\u003c`))
	return bytes.ReplaceAll(out, []byte(">"), []byte(`\u003e`))
}

// write sends a whole answer: status, headers, and the body unless the method is HEAD.
func (x *exchange) write(status int, contentType string, body []byte) {
	if contentType != "" {
		x.set("Content-Type", contentType)
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		x.set("Content-Length", strconv.Itoa(len(body)))
	}
	x.WriteHeader(status)
	if x.r.Method != http.MethodHead && len(body) > 0 {
		// An error means that the caller is gone, and nobody is left to tell.
		_, _ = x.Write(body)
	}
}

// done answers a change: 201 or 200 with a JSON body, or 204 without one.
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

// freshness says how an answer to a GET may be cached.
type freshness struct {
	// never is true for what is different on every request.
	never bool
	// expires is when time alone may change the answer; zero means never.
	expires time.Time
}

// show answers a GET with a JSON body that is its own ETag.
func (x *exchange) show(body []byte) error {
	sum := sha256.Sum256(body)
	return x.showTagged(body, base64.RawURLEncoding.EncodeToString(sum[:16]), freshness{})
}

// showTagged answers a GET whose ETag, without quotes and encoding, is known: with 304 where the caller holds it.
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

// unchanged puts the headers of a GET whose ETag, in quotes, is known, and answers with 304 where the caller holds it.
func (x *exchange) unchanged(tag string, f freshness) bool {
	x.warn()
	x.set("Cache-Control", x.cacheControl(f))
	x.set("Etag", tag)
	if !holds(x.r.Header, tag) {
		return false
	}
	x.Header().Del("Link") // what the caller holds has its links
	x.write(http.StatusNotModified, "", nil)
	return true
}

// send sends a JSON body that is encoded already.
func (x *exchange) send(body []byte, zip bool) {
	if zip {
		x.Header().Set("Content-Encoding", "gzip")
	}
	x.write(http.StatusOK, "application/json", body)
}

// quoteTag returns the ETag of one encoding. It is strong: each encoding has its own.
func quoteTag(tag string, zip bool) string {
	if zip {
		tag += "-gzip"
	}
	return `"` + tag + `"`
}

// heldTags returns the ETags of If-None-Match, weak marks taken off: the comparison is the weak one (RFC 9110, 13.1.2).
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
				break // no ETag: what follows cannot be told apart
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

// The times that answers may be cached where the property does not say (HTTP interface, Caching and limits).
const (
	defaultMaxAge = time.Minute
	defaultStale  = 5 * time.Minute
)

// cacheControl is what caches are told: nothing of a READ-WRITE caller's is kept; a READ-ONLY caller's answer may be
// shared when the token is a part of the URL, and with it of the cache's key.
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

// acceptsGzip reports whether the caller takes gzip (RFC 9110, 12.5.3).
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

// quality reads q=… of a header's member, 1 when it is not there.
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

// gzipPool keeps compressors, each of which holds about 200 KiB.
type gzipPool struct{ pool sync.Pool }

func (p *gzipPool) writer(w io.Writer) *gzip.Writer {
	if z, ok := p.pool.Get().(*gzip.Writer); ok {
		z.Reset(w)
		return z
	}
	// Items are alike in their member names: the fastest level finds most of what there is.
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant of the package
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

// warn tells the caller, in Warning headers (RFC 7234, 5.5, code 299), what is odd about the syntax that it sent.
func (x *exchange) warn() {
	for i, w := range x.warnings {
		if i == maxWarnings {
			break
		}
		text := clip(x.redact(w.Code+": "+w.Message), maxWarningText)
		x.Header().Add("Warning", "299 vitrine "+quotedString(text))
	}
}

// quotedString writes a text for a header: ASCII, quotes and backslashes escaped.
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
