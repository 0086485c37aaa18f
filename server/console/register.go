package console

import (
	"crypto/rand"
	"sync"
	"time"
)

// maxIssued is the maximum number of sessions, and of codes, that one server issues within their lifetime. It limits the memory of a
// register: one bit for each issued number, so 8 MiB. A caller reaches it only with more than 1,500 logins in every second of twelve hours.
const maxIssued = 1 << 26

// serial identifies a session or a code. Only a server creates serials, and seals them, so a caller cannot invent them.
type serial struct {
	// Server is a random name of the server that issued the serial. A server gets a new name when it starts.
	Server string `json:"server"`
	// Number counts the serials of the server, in the order in which it issued them.
	Number uint64 `json:"number"`
}

// register issues serials, and remembers which serials have ended before the end of their lifetime. It also remembers the ended serials of
// other servers, because every server accepts the sessions of all servers of the library.
//
// A register never forgets a serial during its lifetime, and what one caller ends never affects the serials of another. A limit on the
// number of ended serials would break one or the other: anyone with a public token can begin and end any number of sessions. So the
// register keeps one bit for each serial, and limits how many are issued.
type register struct {
	lifetime time.Duration
	server   string
	// most is the maximum number of serials that issue returns within the lifetime.
	most uint64

	mu   sync.Mutex
	next uint64
	// marks divides the issued serials that can still be valid into steps of lifetime/steps, oldest first.
	marks []mark
	ended map[pageKey]*page
	swept time.Time
}

// steps is the number of steps into which a register divides the lifetime of its serials, to find out which ones are over.
const steps = 64

// mark is the beginning of a step: the time, and the first number that was issued in the step.
type mark struct {
	at    time.Time
	first uint64
}

// pageSize is the number of serials in a page.
const pageSize = 4096

type pageKey struct {
	server string
	index  uint64
}

// page has a bit for each of pageSize consecutive serials of one server. The bit is set if the serial has ended.
type page struct {
	bits [pageSize / 64]uint64
	// until is the time at which all ended serials of the page would have ended anyway.
	until time.Time
}

// newRegister returns a register for serials that are valid for at most the given lifetime.
func newRegister(lifetime time.Duration, most uint64) *register {
	return &register{lifetime: lifetime, server: rand.Text(), most: most, ended: map[pageKey]*page{}}
}

// issue returns a new serial. It returns false if the server has issued the maximum number of serials within the lifetime.
func (r *register) issue(now time.Time) (serial, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	step := r.lifetime / steps
	for len(r.marks) > 0 && !now.Before(r.marks[0].at.Add(step+r.lifetime)) {
		r.marks = r.marks[1:]
	}
	if n := len(r.marks); n == 0 || !now.Before(r.marks[n-1].at.Add(step)) {
		r.marks = append(r.marks, mark{now, r.next})
	}
	if r.next-r.marks[0].first >= r.most {
		return serial{}, false
	}
	r.next++
	return serial{r.server, r.next - 1}, true
}

// end ends a serial that is otherwise valid until the given time. It returns false if the serial had already ended.
func (r *register) end(s serial, until, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.swept) >= r.lifetime/steps {
		r.swept = now
		for key, p := range r.ended {
			if !now.Before(p.until) {
				delete(r.ended, key)
			}
		}
	}
	p, bit := r.find(s)
	if p == nil {
		p = &page{}
		r.ended[s.page()] = p
	}
	word := &p.bits[bit/64]
	if *word>>(bit%64)&1 == 1 {
		return false
	}
	*word |= 1 << (bit % 64)
	if p.until.Before(until) {
		p.until = until
	}
	return true
}

// hasEnded reports whether end was called for a serial that would still be valid.
func (r *register) hasEnded(s serial) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, bit := r.find(s)
	return p != nil && p.bits[bit/64]>>(bit%64)&1 == 1
}

// find returns the page of a serial, or nil if no serial of the page has ended, and the index of the serial's bit.
func (r *register) find(s serial) (p *page, bit uint64) {
	return r.ended[s.page()], s.Number % pageSize
}

func (s serial) page() pageKey { return pageKey{s.Server, s.Number / pageSize} }
