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

// Problem is an answer that is not a success: the server's problem document (RFC 9457), or what can be said of an answer
// that has none, such as that of a proxy. Use errors.As.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Position is where a query does not parse, in characters from 0; nil for other problems. Near is the text there and
	// Expected what could stand there.
	Position *int   `json:"position"`
	Near     string `json:"near"`
	Expected string `json:"expected"`
	// RetryAfter is when the server asked to be called again; 0 when it did not say.
	RetryAfter time.Duration `json:"-"`
	// Documented is true when the answer was a problem document: it came from the server itself.
	Documented bool `json:"-"`
}

// Error says what is wrong; the detail of a query's problem says where.
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
		*p = Problem{Title: http.StatusText(resp.StatusCode), Detail: "the answer is no problem document; is this the address of a vitrine server?"}
		if resp.StatusCode >= 500 {
			p.Detail = "something before the server answered: " + strings.ToLower(http.StatusText(resp.StatusCode))
		}
	}
	p.Status = resp.StatusCode
	p.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return p
}

// retryAfter reads both forms of the header: seconds, and a date.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}
