package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
)

// readCounter is a library that counts the pages that it builds, and the reads that fail with ErrNotModified.
type readCounter struct {
	library.Library
	made, current atomic.Int64
}

func (c *readCounter) Read(ctx context.Context, r library.Read) (*library.Page, error) {
	page, err := c.Library.Read(ctx, r)
	switch {
	case err == nil:
		c.made.Add(1)
	case errors.Is(err, library.ErrNotModified):
		c.current.Add(1)
	}
	return page, err
}

// TestPageCache checks that a page that is requested repeatedly is built only twice, that the cached page is identical, and that the server
// never sends an outdated page.
func TestPageCache(t *testing.T) {
	url := "/v2/content/filters/" + filterUUID("summer-wall") + "?page_size=3"
	for name, header := range map[string]map[string]string{"plain": {}, "gzip": {"Accept-Encoding": "gzip"}} {
		t.Run(name, func(t *testing.T) {
			counter := &readCounter{}
			a := newAppOver(t, func(l library.Library) library.Library {
				counter.Library = l
				return counter
			})
			get := call{url: url, token: "ro", header: header}
			first := a.do(get)
			for range 4 {
				again := a.do(get)
				if !bytes.Equal(again.body, first.body) || again.header.Get("Link") != first.header.Get("Link") ||
					again.header.Get("ETag") != first.header.Get("ETag") || again.header.Get("Cache-Control") != first.header.Get("Cache-Control") {
					t.Fatalf("another answer to the same request:\n%v\n%v", first.header, again.header)
				}
			}
			if made := counter.made.Load(); made != 2 {
				t.Errorf("the page was made %d times, want 2", made)
			}
			get.header = map[string]string{"If-None-Match": first.header.Get("ETag")}
			for name, value := range header {
				get.header[name] = value
			}
			get.status = 304
			a.do(get)

			a.write(shop, `{"id":5001,"approval_status":"app","created_on":"2026-11-21T11:59:00Z","content":{"content_type":"image","text":"beach summer","social_platform":"instagram"},"tags":{"marketer_tags":[{"key":"summer"}]}}`)
			get.status = 200
			if after := a.do(get); bytes.Equal(after.body, first.body) && after.header.Get("ETag") == first.header.Get("ETag") {
				t.Error("the page is as it was before a write")
			}
		})
	}
}

// TestMaxAgeOfCachedPage checks that the max-age of a cached page decreases in the same way as for a new page.
func TestMaxAgeOfCachedPage(t *testing.T) {
	a := newApp(t)
	get := call{url: q("created_on:[now-86430s TO *]"), token: "ro"}
	maxAge := func(want string) {
		t.Helper()
		get.want = map[string]string{"Cache-Control": "~max-age=" + want + ","}
		a.do(get)
	}
	for range 3 {
		maxAge("30")
	}
	a.clock.Advance(10 * time.Second)
	maxAge("20")
	get.header = map[string]string{"If-None-Match": a.do(get).header.Get("ETag")}
	get.status = 304
	maxAge("20")
}

// TestPressure checks that the server caches no page under memory pressure.
func TestPressure(t *testing.T) {
	counter := &readCounter{}
	pressure := library.Relaxed
	a := newAppOver(t, func(l library.Library) library.Library {
		counter.Library = l
		return counter
	}, func(o *httpapi.Options) { o.Pressure = func() library.Pressure { return pressure } })
	get := call{url: q("*:*"), token: "rw"}
	other := call{url: q("beach"), token: "rw"}
	for range 3 {
		a.do(get)
	}
	pressure = library.Tight
	a.do(other)
	for range 3 {
		a.do(get)
	}
	if made := counter.made.Load(); made != 2+1+3 {
		t.Errorf("pages were made %d times, want 6", made)
	}
}

// TestSmallPageCache checks that a cache that is too small for any page affects only performance.
func TestSmallPageCache(t *testing.T) {
	a := newApp(t, func(o *httpapi.Options) { o.PageCache = 1 })
	get := call{url: q("*:*"), token: "rw"}
	first := a.do(get)
	for range 3 {
		if again := a.do(get); !bytes.Equal(again.body, first.body) {
			t.Fatal("another answer to the same request")
		}
	}
}

// TestPageKeysAreDistinct requests a page with the token in the URL. Its key must differ from the key of another page whose URL equals the
// link of the first one.
func TestPageKeysAreDistinct(t *testing.T) {
	path := "/v2/content/filters/" + filterUUID("summer-wall")
	a := newApp(t) // /base is the path of its external URL
	for range 3 {
		a.do(call{url: path + "?/base" + path + "?page_size=1", bearer: "ro"})
	}
	if n := len(a.do(call{url: path + "?page_size=1", token: "ro"}).ids(t)); n != 1 {
		t.Errorf("%d items on a page of one", n)
	}
}

// slowCaller is the response writer of a caller that receives nothing until it is released.
type slowCaller struct {
	*httptest.ResponseRecorder
	began, released chan struct{}
}

func (c slowCaller) Write(b []byte) (int, error) {
	select {
	case c.began <- struct{}{}:
	default:
	}
	<-c.released
	return c.ResponseRecorder.Write(b)
}

// TestPageMemory checks the limit for the memory of pages that are being sent, and that one token gets at most half of it.
func TestPageMemory(t *testing.T) {
	for name, header := range map[string]map[string]string{"plain": {}, "gzip": {"Accept-Encoding": "gzip"}} {
		t.Run(name, func(t *testing.T) {
			whole := len(newApp(t).do(call{url: q("*:*", "page_size=20"), token: "ro"}).body)
			a := newApp(t, func(o *httpapi.Options) { o.PageMemory = int64(5 * whole) }) // two pages of one token, four in total
			a.do(call{url: q("*:*", "page_size=60"), token: "ro", header: header, status: 400, contains: []string{"page_size", "smaller"}})

			slow := func(token string) (free func()) {
				w := slowCaller{httptest.NewRecorder(), make(chan struct{}, 1), make(chan struct{})}
				done := make(chan struct{})
				go func() {
					defer close(done)
					a.server.ServeHTTP(w, call{url: q("*:*", "page_size=20"), token: token, header: header}.request())
				}()
				<-w.began
				return func() { close(w.released); <-done }
			}
			another := func(token string, status int) {
				t.Helper()
				a.do(call{url: q("*:*", "page_size=20", "sort_by=random"), token: token, header: header, status: status})
			}
			free := []func(){slow("ro"), slow("ro")}
			another("ro", 503)
			another("rw", 200)
			free = append(free, slow("rw"), slow("rw"))
			another("rw", 503)
			for _, f := range free {
				f()
			}
			another("ro", 200)
			another("rw", 200)
		})
	}
}

// TestPagesWithGzip checks pages of few and of many items, which are compressed in different ways.
func TestPagesWithGzip(t *testing.T) {
	a := newApp(t)
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf(`{"id":%d,"approval_status":"app","content":{"content_type":"text","text":"gzipped page, item %d"}}`, 10_000+i, i))
	}
	a.write(shop, lines...)
	const uuid = "11111111-2222-4333-8444-999999999999"
	a.apply(library.Definition{Property: shop, Filter: &library.Filter{UUID: uuid, ID: 77, Name: "gzip", Query: "text:gzipped"}})
	for _, size := range []int{1, 9, 10, 60} {
		get := call{url: fmt.Sprintf("/v2/content/filters/%s?page_size=%d", uuid, size), token: "rw"}
		plain := a.do(get)
		get.header = map[string]string{"Accept-Encoding": "gzip"}
		zipped := a.do(get)
		if ids := zipped.ids(t); len(ids) != size || zipped.header.Get("Content-Encoding") != "gzip" || !bytes.Equal(zipped.body, plain.body) {
			t.Errorf("%d of %d items, Content-Encoding %q:\n%s\n%s", len(ids), size, zipped.header.Get("Content-Encoding"), zipped.body, plain.body)
		}
	}
}

// TestCachedPageOfAnotherToken checks that callers who do not see everything get no ETag of a page that was cached for a caller who does: that
// ETag changes with items and members that they may not see.
func TestCachedPageOfAnotherToken(t *testing.T) {
	a := newApp(t)
	url := "/v2/content/filters/" + filterUUID("summer-wall") + "?page_size=3"
	tag := func(bearer string) string { return a.do(call{url: url, bearer: bearer}).header.Get("ETag") }
	walled, public := tag("walled"), tag("ro")
	for range 3 {
		if got := tag("rw"); got == walled || got == public {
			t.Errorf("two tokens get the ETag %s", got)
		}
	}
	if got := tag("walled"); got != walled {
		t.Errorf("the ETag is %s instead of %s after another token has read the page", got, walled)
	}
	if got := tag("ro"); got != public {
		t.Errorf("the ETag is %s instead of %s after another token has read the page", got, public)
	}
}

// TestPrivateWriteKeepsTag checks that the ETag of a page does not tell READ-ONLY callers that a private member of an item has changed, whether
// the page is cached or not, and that it changes with the page.
func TestPrivateWriteKeepsTag(t *testing.T) {
	for name, url := range map[string]string{
		"a filter": "/v2/content/filters/" + filterUUID("summer-wall"), "one item": "/v2/content/items?q=id:1001&sort_by=id:asc",
	} {
		t.Run(name, func(t *testing.T) {
			a := newApp(t)
			get := call{url: url, token: "ro"}
			patch := func(body string) { a.do(call{method: "PATCH", url: "/v2/content/1001", token: "rw", body: body}) }
			tag := a.do(get).header.Get("ETag")
			for _, email := range []string{"one@mail.example", "two@mail.example"} {
				patch(`{"submission":{"email":"` + email + `"}}`)
				for range 3 {
					if got := a.do(get).header.Get("ETag"); got != tag {
						t.Errorf("a private write changed the ETag %s to %s", tag, got)
					}
				}
			}
			held := get
			held.header, held.status = map[string]string{"If-None-Match": tag}, 304
			patch(`{"submission":{"email":"three@mail.example"}}`)
			a.do(held)
			patch(`{"featured":true,"campaign":77}`)
			if got := a.do(get).header.Get("ETag"); got == tag {
				t.Errorf("another page has the ETag %s", tag)
			}
		})
	}
}
