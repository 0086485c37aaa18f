package console

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// codeFor is the time for which a code is valid.
	codeFor = time.Minute
	// maxCodes is the maximum number of valid codes for one token. A further code replaces the oldest one.
	maxCodes = 8
)

// codes contains the valid one-time codes. A program that has a token can use a code to log a browser in, so that the user does not have to
// enter the token. Only the server that issued a code accepts it. The zero value is empty.
type codes struct {
	mu sync.Mutex
	// issued contains the valid codes in the order of their expiry. A linear search is fast enough, because there are never many codes.
	issued []code
}

// code is a one-time code. The server finds a code by its digest, so that the time of a lookup reveals nothing about the texts of valid
// codes.
type code struct {
	digest  [sha256.Size]byte
	token   string
	expires time.Time
}

// issue returns a new code for a token.
func (c *codes) issue(token string, now time.Time) (string, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire(now)
	oldest, count := 0, 0
	for i := len(c.issued) - 1; i >= 0; i-- {
		if c.issued[i].token == token {
			oldest = i
			count++
		}
	}
	if count >= maxCodes {
		c.remove(oldest)
	}
	text, expires := rand.Text(), now.Add(codeFor)
	c.issued = append(c.issued, code{sha256.Sum256([]byte(text)), token, expires})
	return text, expires
}

// redeem returns the token of a code and makes the code invalid. If the code is not valid, it returns an empty string.
func (c *codes) redeem(text string, now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(text, now)
	if i < 0 {
		return ""
	}
	token := c.issued[i].token
	c.remove(i)
	return token
}

// lookup returns the token of a code and the time at which the code expires. The code stays valid. If the code is not valid, the token is
// empty.
func (c *codes) lookup(text string, now time.Time) (token string, expires time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(text, now)
	if i < 0 {
		return "", time.Time{}
	}
	return c.issued[i].token, c.issued[i].expires
}

// find returns the index of a code, or -1 if the code is not valid. It removes all codes that have expired.
func (c *codes) find(text string, now time.Time) int {
	c.expire(now)
	digest := sha256.Sum256([]byte(text))
	return slices.IndexFunc(c.issued, func(known code) bool { return known.digest == digest })
}

func (c *codes) expire(now time.Time) {
	for len(c.issued) > 0 && !now.Before(c.issued[0].expires) {
		c.remove(0)
	}
}

// remove removes a code. It clears the last element of the slice, so that no token stays in memory.
func (c *codes) remove(i int) {
	copy(c.issued[i:], c.issued[i+1:])
	c.issued[len(c.issued)-1] = code{}
	c.issued = c.issued[:len(c.issued)-1]
}

// codesPath is the path of makeCode.
const codesPath = Path + "codes"

// bearer returns the token in the Authorization header, or an empty string if there is none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// makeCode handles POST requests with a token in the Authorization header. It returns a code for the token and describes the session that
// the code can begin.
func (c *console) makeCode(w http.ResponseWriter, r *http.Request) error {
	token := bearer(r)
	a, err := c.attempt(r, `the access token is missing, unknown, expired or revoked (send it in the header "Authorization: Bearer TOKEN")`, func() string { return token })
	if err != nil {
		return err
	}
	text, expires := c.codes.issue(token, c.o.Clock())
	w.Header().Set("Content-Type", "application/json")
	answer(w, http.StatusCreated, struct {
		Code string `json:"code"`
		description
	}{text, describe("", expires, a)})
	return nil
}

// lookUpCode handles POST requests with a code. It describes the session that the code can begin. The page shows this description and
// asks the user to confirm the login, because any user with a token of another property can create a link with a code.
func (c *console) lookUpCode(w http.ResponseWriter, r *http.Request) error {
	var sent struct{ Code string }
	if err := readBody(w, r, &sent); err != nil {
		return err
	}
	if sent.Code == "" {
		return &problem{invalidBody, `the body must contain a code: {"code": "…"}`}
	}
	var expires time.Time
	a, err := c.attempt(r, codeRefusal, func() (token string) {
		token, expires = c.codes.lookup(sent.Code, c.o.Clock())
		return token
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, http.StatusOK, describe("", expires, a))
	return nil
}
