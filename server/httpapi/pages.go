package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/maypok86/otter/v2"

	"github.com/vitrine-dev/vitrine/server/library"
)

// keptPage is a cached page that is ready to be sent. It is current as long as the library returns the same version for the same Read.
type keptPage struct {
	version string
	// tag is the ETag of the page.
	tag     string
	expires time.Time
	// links are the values of the header Link.
	links []string
	tags  cacheTags
	// body is the body in the content coding of the page's key.
	body []byte
}

// keptFor is the lifetime of a cached page. It limits the time for which the bytes of an erased item stay in memory.
const keptFor = time.Minute

// pageCache caches pages that are requested repeatedly, up to a limit in bytes. Pages that are requested once do not displace pages that
// are requested often.
type pageCache struct {
	pages    *otter.Cache[pageKey, *keptPage]
	pressure func() library.Pressure
	// asked contains parts of the hashes of recently built pages. The cache keeps a page only when it is built again soon, because
	// otherwise the page is not worth its memory.
	asked [4096]atomic.Uint32
	seed  maphash.Seed
	// hits and misses count the results of get.
	hits, misses atomic.Int64
}

// pageOverhead is the approximate memory of a cached page without its body, in bytes.
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
		return nil, fmt.Errorf("create the cache of pages: %w", err)
	}
	return &pageCache{pages: pages, pressure: pressure, seed: maphash.MakeSeed()}, nil
}

// get returns a cached page or nil. The caller must check that the page is current.
func (c *pageCache) get(key pageKey) *keptPage {
	if p, ok := c.pages.GetIfPresent(key); ok {
		c.hits.Add(1)
		return p
	}
	c.misses.Add(1)
	return nil
}

// keep caches a copy of a page if the page was built a second time. Under memory pressure, it empties the cache instead, because pages are
// the cheapest data to rebuild.
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

// maxScratch is the maximum capacity of a buffer that is reused, in bytes. A page of 50 items takes 100 to 200 KB.
const maxScratch = 1 << 20

// scratch is a pool of buffers in which responses are built.
type scratch struct{ pool sync.Pool }

func (s *scratch) get() *[]byte {
	if b, ok := s.pool.Get().(*[]byte); ok {
		return b
	}
	return new(make([]byte, 0, 64<<10))
}

// put returns to the pool a buffer that is no longer in use. now is the slice that the buffer has grown to.
func (s *scratch) put(b *[]byte, now []byte) {
	if cap(now) <= maxScratch {
		*b = now[:0]
		s.pool.Put(b)
	}
}

// pageGzipFrom is the minimum number of items of a page that is compressed with package jsongzip. For fewer items, its results are much
// longer than those of a general compressor, which takes little time for such a page.
const pageGzipFrom = 10

// page answers with the page of items that r reads. It sends 304 if the caller has the current version of the page. Otherwise, it sends the
// cached page if that page is current, or else a new page. The function finish returns the links to other pages.
func (x *exchange) page(r library.Read, l listing, fresh freshness, finish func(next library.Cursor) links) error {
	key := x.pageKey(r)
	held := ""
	if tags := heldTags(x.r.Header).tags; len(tags) > 0 && !key.byContent {
		held = key.heldVersion(tags, x.linkHere())
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
	r.Room = func(bytes int) error { return x.reserve("page_size", bytes) }
	defer x.release()
	r.Into = append((*buffer)[:0], make([]byte, headRoom)...)
	page, err := x.find(r, l.adHoc)
	if errors.Is(err, library.ErrNotModified) {
		x.server.scratch.put(buffer, r.Into)
		if kept == nil {
			// No body is needed, because the caller sent this ETag in If-None-Match.
			kept = &keptPage{tag: key.tag(page.Version, x.linkHere()), expires: page.Expires}
		}
		return x.showPage(*kept, key, fresh)
	}
	if err != nil {
		x.server.scratch.put(buffer, r.Into)
		return hideStored(err, r)
	}
	shown := page.Version
	if key.byContent {
		shown = contentVersion(page)
	}
	to := finish(page.Next)
	made := keptPage{version: page.Version, tag: key.tag(shown, x.linkHere()), expires: page.Expires, links: to.header(), tags: x.cacheTags()}
	made.body = itemList(page, l, to)
	if key.zip {
		zipped := x.server.scratch.get()
		if page.Count < pageGzipFrom {
			made.body = x.server.gzip.compress((*zipped)[:0], made.body)
		} else {
			made.body = x.server.pageGzip.Append((*zipped)[:0], made.body)
		}
		x.server.scratch.put(buffer, page.Items) // while a slow caller receives, only the encoded body is needed
		defer x.server.scratch.put(zipped, made.body)
	} else {
		defer x.server.scratch.put(buffer, page.Items)
	}
	if !fresh.never {
		x.server.pages.keep(key, made)
	}
	return x.showPage(made, key, fresh)
}

// contentVersion returns a version for the ETag of a page that changes only with the content of the page. The cursor of the next page does not
// count, because it is random. A cryptographic hash would take almost as long as building the page, and would protect only against authors
// who want caches to keep the previous state of their own items.
func contentVersion(page *library.Page) string {
	h := xxhash.New()
	_, _ = h.Write(page.Items[headRoom:])
	fmt.Fprintf(h, " %d %t", page.Total, page.Next != "")
	return strconv.FormatUint(h.Sum64(), 36)
}

// showPage sends a page, or 304 if the caller already has it.
func (x *exchange) showPage(p keptPage, key pageKey, fresh freshness) error {
	fresh.expires = p.expires
	if unchanged, err := x.unchanged(p.tag, fresh); unchanged || err != nil {
		return err
	}
	for _, link := range p.links {
		x.Header().Add("Link", link)
	}
	if x.cacheable(fresh) {
		x.setCacheTags(p.tags)
	}
	x.send(p.body, key.zip)
	return nil
}
