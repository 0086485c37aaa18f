package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// followShortLink answers GET /i/{code} (extension) with a redirect to the original of an approved item.
func (s *Server) followShortLink(x *exchange) error {
	p, original, err := s.lib.ShortLink(x.r.Context(), x.r.PathValue("code"))
	if errors.Is(err, library.ErrNotFound) {
		return absent("no short link has this code")
	}
	if err != nil {
		return err
	}
	// The library already guarantees this. The check is a second line of defense against redirects to other schemes.
	if u, err := url.Parse(original); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return absent("no short link has this code")
	}
	if x.settings, err = s.lib.Property(p); err != nil {
		return err
	}
	if m := x.settings.Maintenance; m != nil {
		return underMaintenance(m)
	}
	x.Header().Set("Cache-Control", x.cacheControl(freshness{}))
	x.Header().Set("Location", escapedURL(original))
	x.write(http.StatusFound, "", nil)
	return nil
}

// escapedURL percent-encodes the bytes that RFC 3986 does not allow in a URI, such as quotes, angle brackets and non-ASCII bytes. It keeps
// %, and therefore keeps existing escapes.
func escapedURL(address string) string {
	escaped := make([]byte, 0, len(address))
	for i := range len(address) {
		if b := address[i]; b <= ' ' || b > '~' || strings.IndexByte("\"<>\\^`{|}", b) >= 0 {
			escaped = fmt.Appendf(escaped, "%%%02X", b)
		} else {
			escaped = append(escaped, b)
		}
	}
	return string(escaped)
}
