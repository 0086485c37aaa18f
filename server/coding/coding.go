// Package coding chooses the content coding of a response.
//
// The package may import only the standard library.
package coding

import (
	"net/http"
	"strconv"
	"strings"
)

// Gzip reports whether a response should be in gzip, according to the header Accept-Encoding of the request (RFC 9110, 12.5.3): the caller
// accepts gzip, and does not prefer the response without a coding. The result is false if the request has no such header.
func Gzip(h http.Header) bool {
	// A weight is negative if the header does not contain the coding.
	gzip, identity, other := -1.0, -1.0, -1.0
	for _, line := range h["Accept-Encoding"] {
		for element := range strings.SplitSeq(line, ",") {
			name, parameter, _ := strings.Cut(element, ";")
			switch name = strings.TrimSpace(name); {
			case strings.EqualFold(name, "gzip"), strings.EqualFold(name, "x-gzip"):
				gzip = weight(parameter)
			case strings.EqualFold(name, "identity"):
				identity = weight(parameter)
			case name == "*":
				other = weight(parameter)
			}
		}
	}
	// The asterisk stands for each coding that the header does not contain.
	if gzip < 0 {
		gzip = other
	}
	if identity < 0 {
		identity = other
	}
	return gzip > 0 && gzip >= identity
}

// weight returns the weight in the parameter of a coding (RFC 9110, 12.4.2): 1 if there is none, and 0 if it is not a number from 0 to 1.
func weight(parameter string) float64 {
	name, value, ok := strings.Cut(parameter, "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}
