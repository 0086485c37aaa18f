package library

import (
	"fmt"
	"regexp"
)

// plainURL and dotSegments are the two patterns in the CEL rule of Property.spec.externalURL. A URL must match the first pattern and must
// not match the second.
var (
	plainURL    = regexp.MustCompile(`^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?(/[A-Za-z0-9._~-]+)*/?$`)
	dotSegments = regexp.MustCompile(`/[.][.]?(/|$)`)
)

// CheckExternalURL validates the base URL of links: http or https, a host, and optionally a port and a plain path. It refuses user info,
// queries, fragments, escapes, spaces and quotes, because Vitrine copies the URL into links, statuses and Secrets without escaping it. ""
// is valid and means that no base URL is set.
func CheckExternalURL(address string) error {
	if address == "" || plainURL.MatchString(address) && !dotSegments.MatchString(address) {
		return nil
	}
	return fmt.Errorf("%q must be an http or https URL with a host, and optionally a port (1 to 65535) and a path of letters, digits and ._~-, such as https://content.example/base", address)
}
