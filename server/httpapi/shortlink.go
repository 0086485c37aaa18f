package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// followShortLink answers GET /i/{code} (extension): on to the original of an approved item.
func (s *Server) followShortLink(x *exchange) error {
	p, original, err := s.lib.ShortLink(x.r.Context(), x.r.PathValue("code"))
	if errors.Is(err, library.ErrNotFound) {
		return absent("no short link has this code")
	}
	if err != nil {
		return err
	}
	// The library promises as much; an address of another kind must not leave here in any case.
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

// escapedURL returns an address in which the bytes that RFC 3986 allows in no URI are percent-encoded, such as quotes, angle brackets
// and everything beyond ASCII. A % stays, and with it what is already encoded.
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
