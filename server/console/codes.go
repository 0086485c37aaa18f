package console

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"sync"
	"time"
)

// codeFor is the time for which a code is valid.
const codeFor = time.Minute

// codes issues one-time codes. A program that has a token can use a code to log a browser in, so that the user does not have to enter the
// token. Only the server that issued a code accepts it.
//
// A code is a sealed note. The server remembers the tokens of valid codes and the codes that were used, but not each code. So callers
// cannot displace or use up the codes of others, even with the same token.
type codes struct {
	sealer *sealer
	issued *register

	mu sync.Mutex
	// tokens contains the tokens of all valid codes by their digests.
	tokens map[[sha256.Size]byte]offered
}

// offered is a token for which there are codes. The last of these codes expires at the given time.
type offered struct {
	token   string
	expires time.Time
}

// note is the content of a code: which token it stands for, its serial, and when it expires.
type note struct {
	token [sha256.Size]byte
	serial
	expires time.Time
}

// newCodes returns codes with a random key, which only this server has.
func newCodes() (*codes, error) {
	key := make([]byte, minKey)
	_, _ = rand.Read(key) // never fails
	s, err := newSealer(key, "vitrine console code v2")
	return &codes{sealer: s, issued: newRegister(codeFor, maxIssued), tokens: map[[sha256.Size]byte]offered{}}, err
}

// issue returns a new code for a token. It returns false if the server has issued too many codes.
func (c *codes) issue(token string, now time.Time) (text string, expires time.Time, ok bool) {
	n, ok := c.issued.issue(now)
	if !ok {
		return "", time.Time{}, false
	}
	digest, expires := sha256.Sum256([]byte(token)), now.Add(codeFor)
	c.mu.Lock()
	defer c.mu.Unlock()
	for d, o := range c.tokens {
		if !now.Before(o.expires) {
			delete(c.tokens, d)
		}
	}
	c.tokens[digest] = offered{token, expires}
	content := binary.BigEndian.AppendUint64(digest[:], n.Number)
	content = binary.BigEndian.AppendUint64(content, uint64(expires.UnixNano()))
	return codeText.EncodeToString(c.sealer.seal(content)), expires, true
}

// codeText writes codes with letters and digits only, so that terminals recognize the end of a link with a code.
var codeText = base32.StdEncoding.WithPadding(base32.NoPadding)

// redeem returns the token of a code and makes the code invalid. If the code is not valid, it returns an empty string.
func (c *codes) redeem(text string, now time.Time) string {
	n, token := c.find(text, now)
	if token == "" || !c.issued.end(n.serial, n.expires, now) {
		return ""
	}
	return token
}

// lookup returns the token of a code and the time at which the code expires. The code stays valid. If the code is not valid, the token is
// empty.
func (c *codes) lookup(text string, now time.Time) (token string, expires time.Time) {
	n, token := c.find(text, now)
	return token, n.expires
}

// find returns the content of a code and its token. The token is empty if the code is not valid.
func (c *codes) find(text string, now time.Time) (n note, token string) {
	sealed, err := codeText.DecodeString(text)
	if err != nil {
		return note{}, ""
	}
	content, ok := c.sealer.open(sealed)
	if !ok || len(content) != sha256.Size+16 {
		return note{}, ""
	}
	numbers := content[copy(n.token[:], content):]
	n.serial = serial{c.issued.server, binary.BigEndian.Uint64(numbers)}
	n.expires = time.Unix(0, int64(binary.BigEndian.Uint64(numbers[8:])))
	if !now.Before(n.expires) || c.issued.hasEnded(n.serial) {
		return note{}, ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return n, c.tokens[n.token].token
}
