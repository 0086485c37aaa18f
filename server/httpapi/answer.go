package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/vitrine-dev/vitrine/server/coding"
	"github.com/vitrine-dev/vitrine/server/problems"
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
	return x.showTagged(body, bodyTag(body), f)
}

// bodyTag returns the ETag of a body, without quotes and without the suffix for the content coding.
func bodyTag(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// showTagged answers a GET with a body whose ETag is known. tag is the ETag without quotes and without the suffix for the content coding.
// If the caller already has the body with this ETag, showTagged sends 304.
func (x *exchange) showTagged(body []byte, tag string, f freshness) error {
	zip := coding.Gzip(x.r.Header)
	if unchanged, err := x.unchanged(quoteTag(tag, zip), f); unchanged || err != nil {
		return err
	}
	if x.cacheable(f) {
		x.setCacheTags(x.cacheTags())
	}
	if zip {
		body = x.server.gzip.compress(nil, body)
	}
	x.send(body, zip)
	return nil
}

// unchanged sets the headers of the response to a GET. tag is the quoted ETag. If the caller already has the body with this ETag, unchanged
// sends 304 and returns true. It fails with status 412 if If-Match contains other ETags only.
func (x *exchange) unchanged(tag string, f freshness) (bool, error) {
	wanted, err := tagsIn(x.r.Header, "If-Match")
	if err != nil {
		return false, err
	}
	if !wanted.holds(func(t sentTag) bool { return !t.weak && plainTag(t.text) == plainTag(tag) }) {
		return false, &problem{Type: problems.PreconditionFailed, Detail: "If-Match does not contain the current ETag of the response"}
	}
	x.warn()
	x.set("Cache-Control", x.cacheControl(f))
	x.set("Etag", tag)
	held := heldTags(x.r.Header)
	if !held.any && !slices.ContainsFunc(held.tags, func(t sentTag) bool { return t.text == tag }) {
		return false, nil
	}
	x.Header().Del("Link") // the caller's copy already contains the links
	x.write(http.StatusNotModified, "", nil)
	return true, nil
}

// heldTags returns the ETags that the caller of a GET has. It ignores the part of the header after an error, because the caller then gets
// the whole body. The comparison with these ETags is weak (RFC 9110, 13.1.2).
func heldTags(h http.Header) tagList {
	held, _ := tagsIn(h, "If-None-Match")
	return held
}

// send sends a JSON body that is already in its content coding.
func (x *exchange) send(body []byte, zip bool) {
	if zip {
		x.Header().Set("Content-Encoding", "gzip")
	}
	x.write(http.StatusOK, "application/json", body)
}

// These are the cache times of responses for properties that do not set any (docs/http-api.md, "Caching and limits").
const (
	defaultMaxAge = time.Minute
	defaultStale  = 5 * time.Minute
)

// cacheControl returns the Cache-Control value of a response. No cache may store a response to a READ-WRITE caller. Shared caches may store
// a response to a READ-ONLY caller if the token is in the URL, and therefore in the cache key.
func (x *exchange) cacheControl(f freshness) string {
	if x.grant.rights.ReadWrite || f.never {
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
	// The time of the next change depends on the dates of all items, so callers who do not see all of them must not learn it.
	if !f.expires.IsZero() && !x.narrowed() {
		maxAge = min(maxAge, max(0, f.expires.Sub(x.server.options.Clock())))
	}
	text := append(make([]byte, 0, 96), scope...)
	text = strconv.AppendInt(append(text, ", max-age="...), int64(maxAge.Seconds()), 10)
	text = strconv.AppendInt(append(text, ", stale-while-revalidate="...), int64(stale.Seconds()), 10)
	text = strconv.AppendInt(append(text, ", stale-if-error="...), int64(stale.Seconds()), 10)
	return string(text)
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
