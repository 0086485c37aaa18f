package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// pageKey names a page: what its bytes depend on besides the library's state, as it was asked for, and how they are encoded.
// Two keys may stand for one page (see identity), but never one for two.
type pageKey struct {
	property          library.PropertyID
	audience          query.Audience
	base, path, query string
	// link stands in for query where that holds a token: tokens are not kept.
	link string
	seed string
	zip  bool
}

// pageKey names the page that is asked for.
func (x *exchange) pageKey(seed string) pageKey {
	k := pageKey{
		property: x.grant.property, audience: x.audience(), base: x.baseURL(), path: x.r.URL.EscapedPath(), query: x.r.URL.RawQuery,
		seed: seed, zip: acceptsGzip(x.r.Header),
	}
	if x.params.Has("access_token") {
		k.query, k.link = "", x.linkHere()
	}
	return k
}

// keptPage is a page ready to be sent. Its library says, by the version, whether it still is what a read would give.
type keptPage struct {
	version string
	// tag is the ETag.
	tag     string
	expires time.Time
	// links are the values of the header Link.
	links []string
	// body is encoded as its key says.
	body []byte
}

// keptFor is how long a page is kept after it was made, so that no bytes of an erased item stay in memory for longer.
const keptFor = time.Minute

// pageCache keeps the pages that are asked for again and again, as many as fit into its bytes: those read often stay,
// whatever else is read once in between.
type pageCache struct {
	pages    *otter.Cache[pageKey, *keptPage]
	pressure func() library.Pressure
	// asked remembers the pages that were made last, by a part of their hash: only one that is made again soon is worth
	// its bytes.
	asked [4096]atomic.Uint32
	seed  maphash.Seed
	// hits and misses count what get found.
	hits, misses atomic.Int64
}

// pageOverhead is about what a page takes beside its body.
const pageOverhead = 512

func newPageCache(bytes int64, pressure func() library.Pressure) (*pageCache, error) {
	pages, err := otter.New(&otter.Options[pageKey, *keptPage]{
		MaximumWeight: uint64(max(bytes, 0)),
		Weigher: func(k pageKey, p *keptPage) uint32 {
			return uint32(len(p.body) + len(k.path) + len(k.query) + len(k.link) + pageOverhead)
		},
		ExpiryCalculator: otter.ExpiryWriting[pageKey, *keptPage](keptFor),
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of pages: %w", err)
	}
	return &pageCache{pages: pages, pressure: pressure, seed: maphash.MakeSeed()}, nil
}

// get returns a page that can be sent if it is current, nil for none.
func (c *pageCache) get(key pageKey) *keptPage {
	if p, ok := c.pages.GetIfPresent(key); ok {
		c.hits.Add(1)
		return p
	}
	c.misses.Add(1)
	return nil
}

// keep keeps a copy of a page that was made before not long ago. Where memory is short it gives up all that is kept instead:
// it costs less to make anew than anything else.
func (c *pageCache) keep(key pageKey, p keptPage) {
	if c.pressure() != library.Relaxed {
		c.pages.InvalidateAll()
		return
	}
	hash := maphash.Comparable(c.seed, key)
	if mark := uint32(hash >> 32); c.asked[hash%uint64(len(c.asked))].Swap(mark) != mark {
		return
	}
	p.body = bytes.Clone(p.body)
	c.pages.Set(key, &p)
}

func (c *pageCache) close() { c.pages.StopAllGoroutines() }

// maxScratch is the size above which a buffer is not kept: a page of 50 items takes 100 to 200 KB.
const maxScratch = 1 << 20

// scratch hands out buffers in which answers are put together.
type scratch struct{ pool sync.Pool }

func (s *scratch) get() *[]byte {
	if b, ok := s.pool.Get().(*[]byte); ok {
		return b
	}
	return new(make([]byte, 0, 64<<10))
}

// put takes a buffer back that nobody looks at any more; now is its slice as it has grown.
func (s *scratch) put(b *[]byte, now []byte) {
	if cap(now) <= maxScratch {
		*b = now[:0]
		s.pool.Put(b)
	}
}

// page answers with the page of items that r reads: 304 where the caller holds it, a kept page while it is current, else
// a new one. finish makes the links to other pages.
func (x *exchange) page(r library.Read, l listing, fresh freshness, finish func(next library.Cursor) links) error {
	key := x.pageKey(r.Seed)
	held := ""
	if tags := heldTags(x.r.Header); len(tags) > 0 {
		held = heldVersion(tags, x.identity(r.Seed), key.zip)
	}
	kept := (*keptPage)(nil)
	if !fresh.never {
		kept = x.server.pages.get(key)
	}
	r.IfVersion = held
	if kept != nil {
		r.IfVersion = kept.version
	}
	buffer := x.server.scratch.get()
	r.Into = append((*buffer)[:0], make([]byte, headRoom)...)
	page, err := x.find(r, l.free)
	tag := func() string { return quoteTag(versionTag(page.Version, x.identity(r.Seed)), key.zip) }
	if errors.Is(err, library.ErrNotModified) {
		x.server.scratch.put(buffer, r.Into)
		if kept == nil {
			// The body is not needed: If-None-Match names this very ETag.
			kept = &keptPage{tag: tag(), expires: page.Expires}
		}
		return x.showPage(*kept, key, fresh)
	}
	if err != nil {
		x.server.scratch.put(buffer, r.Into)
		return hideStored(err, r)
	}
	to := finish(page.Next)
	made := keptPage{version: page.Version, tag: tag(), expires: page.Expires, links: to.header()}
	made.body = itemList(page, l, to)
	defer x.server.scratch.put(buffer, page.Items)
	if key.zip {
		zipped := x.server.scratch.get()
		made.body = x.server.gzip.compress((*zipped)[:0], made.body)
		defer x.server.scratch.put(zipped, made.body)
	}
	if !fresh.never {
		x.server.pages.keep(key, made)
	}
	return x.showPage(made, key, fresh)
}

// showPage sends a page, or 304 where the caller holds it.
func (x *exchange) showPage(p keptPage, key pageKey, fresh freshness) error {
	fresh.expires = p.expires
	if x.unchanged(p.tag, fresh) {
		return nil
	}
	for _, link := range p.links {
		x.Header().Add("Link", link)
	}
	x.send(p.body, key.zip)
	return nil
}
