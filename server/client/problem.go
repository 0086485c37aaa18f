package client

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Problem is a response with a status other than 2xx. It is the server's problem document (RFC 9457), or describes a response without one,
// such as the response of a proxy. Use errors.As to get it from an error.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Position is the position of a syntax error in a query, in characters from 0, or nil for other problems. Near is the text at that
	// position. Expected describes what the parser expects there.
	Position *int   `json:"position"`
	Near     string `json:"near"`
	Expected string `json:"expected"`
	// RetryAfter is the delay that the server asked for, or 0 if it did not ask for one.
	RetryAfter time.Duration `json:"-"`
	// Documented is true if the response was a problem document, and therefore came from the server itself.
	Documented bool `json:"-"`
}

// Error returns the status with the detail or, if there is no detail, with the title.
func (p *Problem) Error() string {
	s := p.Detail
	if s == "" {
		s = p.Title
	}
	if s == "" {
		s = http.StatusText(p.Status)
	}
	return fmt.Sprintf("%s (HTTP %d)", s, p.Status)
}

func problemOf(resp *http.Response) *Problem {
	p := &Problem{}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "application/problem+json" {
		body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		p.Documented = err == nil && json.Unmarshal(body, p) == nil
	}
	if !p.Documented {
		*p = Problem{Title: http.StatusText(resp.StatusCode), Detail: "the response does not come from a Vitrine server: check the address, and use https:// if the server uses TLS"}
		if resp.StatusCode >= 500 {
			p.Detail = "a proxy responded instead of the server: " + strings.ToLower(http.StatusText(resp.StatusCode))
		}
	}
	p.Status = resp.StatusCode
	p.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return p
}

// retryAfter parses both forms of the Retry-After header: seconds and a date.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}
