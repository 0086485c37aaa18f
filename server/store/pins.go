package store

import (
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// PinTime is how long a listing by relevance is kept for its cursors; MaxPins how many are kept at most, and
// MaxPinnedItems how many items they may have together (8 bytes each).
const (
	PinTime        = time.Minute
	MaxPins        = 256
	MaxPinnedItems = 4 << 20
)

// PinOver is the error about a cursor of a listing that has changed since and is kept no more.
func PinOver() *library.CursorError {
	return &library.CursorError{Reason: "a listing by relevance that changes is kept for a minute: start again from the first page"}
}

// Pins are the listings by relevance whose cursors are out. Scores change with every item that comes or goes, so that no
// value in a cursor could say where it was; so the listing itself is kept, for a minute. The zero Pins are ready, and safe
// for concurrent use.
type Pins struct {
	mu     sync.Mutex
	byName map[string]*pin
}

type pin struct {
	ids   []item.ID
	until time.Time
}

// PinPlace is a place in a listing that is kept: what a cursor by relevance holds.
type PinPlace struct {
	// Pin is the name of the listing, Index the place of the next item in it.
	Pin   string `json:"p"`
	Index int    `json:"i"`
}

// Page takes a page out of a listing by relevance. found is the listing as it is now, name what tells it from every other
// state of it and from every other listing. Without after it begins at offset; with the place that the page before gave, it
// goes on with the listing as it was then, without what has left it meanwhile. next is nil on the last page. The error is
// *library.CursorError, when the listing has changed and the minute is over. found is kept, and must not be written to.
func (p *Pins) Page(
	now time.Time, name string, found []item.ID, after *PinPlace, offset int64, limit int,
) (ids []item.ID, next *PinPlace, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire(now)
	list, start := found, int(min(offset, int64(len(found))))
	still := func(item.ID) bool { return true }
	if after != nil {
		kept := p.byName[after.Pin]
		switch {
		case kept != nil:
			list = kept.ids
		case after.Pin == name: // it is as it was
			p.keep(name, found, now)
		default:
			return nil, nil, PinOver()
		}
		start = after.Index
		if !slices.Equal(list, found) {
			in := make(map[item.ID]bool, len(found))
			for _, id := range found {
				in[id] = true
			}
			still = func(id item.ID) bool { return in[id] }
		}
	}
	for ; start < len(list) && len(ids) < limit; start++ {
		if still(list[start]) {
			ids = append(ids, list[start])
		}
	}
	for start < len(list) && !still(list[start]) {
		start++
	}
	if len(ids) == 0 || start == len(list) {
		return ids, nil, nil
	}
	if after != nil {
		return ids, &PinPlace{Pin: after.Pin, Index: start}, nil
	}
	p.keep(name, list, now)
	return ids, &PinPlace{Pin: name, Index: start}, nil
}

// Bytes is the memory that the listings take.
func (p *Pins) Bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.items()) * 8
}

// keep keeps a listing for a minute from now on. Where there is too much the one that ends first goes.
func (p *Pins) keep(name string, ids []item.ID, now time.Time) {
	if known := p.byName[name]; known != nil {
		known.until = now.Add(PinTime)
		return
	}
	for len(p.byName) > 0 && (len(p.byName) >= MaxPins || p.items()+len(ids) > MaxPinnedItems) {
		first := ""
		for name, pin := range p.byName {
			if first == "" || pin.until.Before(p.byName[first].until) {
				first = name
			}
		}
		delete(p.byName, first)
	}
	if p.byName == nil {
		p.byName = map[string]*pin{}
	}
	p.byName[name] = &pin{ids: ids, until: now.Add(PinTime)}
}

func (p *Pins) items() int {
	n := 0
	for _, pin := range p.byName {
		n += len(pin.ids)
	}
	return n
}

func (p *Pins) expire(now time.Time) {
	for name, pin := range p.byName {
		if !now.Before(pin.until) {
			delete(p.byName, name)
		}
	}
}
