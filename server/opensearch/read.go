package opensearch

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Read finds a page of items. See library.Library.
func (l *Library) Read(ctx context.Context, r library.Read) (*library.Page, error) {
	return withListing(ctx, l, r, func(ctx context.Context, v *view, listing library.Listing) (*library.Page, error) {
		return l.read(ctx, v, r, listing)
	})
}

func (l *Library) read(ctx context.Context, v *view, r library.Read, listing library.Listing) (*library.Page, error) {
	key, again := l.fresh.key(r, listing)
	state := indexState("")
	if again {
		if p, ok := l.fresh.unchanged(ctx, v, key, r.IfVersion); ok {
			return &library.Page{Version: p.version, Expires: p.expires}, library.ErrNotModified
		}
		state = l.fresh.settle(ctx, v.index())
	}
	s, err := v.listed(ctx, l.sealer, listing)
	if err != nil {
		return nil, err
	}
	s.onlyIDs = r.OnlyIDs
	found, err := s.page(ctx, r)
	if err != nil {
		return nil, err
	}
	page := &library.Page{Total: found.total, Count: len(found.hits), Items: r.Into}
	if page.Expires, err = v.expires(ctx, listing); err != nil {
		return nil, err
	}
	if r.OnlyIDs {
		for _, h := range found.hits {
			page.IDs = append(page.IDs, h.place.ID)
		}
	} else if page.Items, err = v.appendItems(ctx, r, found.hits); err != nil {
		return nil, err
	}
	if found.more {
		if page.Next, err = l.sealer.Seal(listing.Identity, found.hits[len(found.hits)-1].place); err != nil {
			return nil, err
		}
	}
	page.Version = l.versionOf(page, len(r.Into), listing, found.hits)
	l.fresh.keep(key, v, page, state)
	if r.IfVersion == page.Version {
		return &library.Page{Version: page.Version, Expires: page.Expires}, library.ErrNotModified
	}
	return page, nil
}

// versionOf returns the version of a page. The version is a hash of the definition of the listing, the states of the page's items, and
// the bytes of the items, which begin at `from`. The cluster has no number that changes exactly when the page changes. The hash is keyed,
// because callers could otherwise use it to confirm a guess of a stored query or of a private field.
func (l *Library) versionOf(p *library.Page, from int, listing library.Listing, hits []hit) string {
	var text []byte
	for _, part := range listing.Parts {
		text = append(append(text, part.Query.String()...), 0)
	}
	text = fmt.Appendf(text, "%s %v %d %s\x00", listing.Order, listing.Favourite, p.Total, p.Next)
	for _, h := range hits {
		text = fmt.Appendf(text, "%d %d %d\x00", h.place.ID, h.Seq, h.Term)
	}
	mac := hmac.New(sha256.New, l.versionKey)
	mac.Write(text)
	mac.Write(p.Items[from:])
	return hex.EncodeToString(mac.Sum(nil)[:12])
}
