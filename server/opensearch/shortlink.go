package opensearch

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// ShortLink returns the target of a short link. See library.Library.
func (l *Library) ShortLink(ctx context.Context, code string) (library.PropertyID, string, error) {
	ctx, end, err := l.reading(ctx)
	if err != nil {
		return "", "", err
	}
	defer end()
	notFound := fmt.Errorf("short link: %w", library.ErrNotFound)
	if code == "" {
		return "", "", notFound
	}
	holders, err := l.codeHolders(ctx, l.records.now().set, []string{code})
	if err != nil {
		return "", "", err
	}
	for _, h := range holders.of[code] {
		c, err := l.Served(h.property)
		if err != nil {
			continue // the property is not served
		}
		it, err := newView(l.conn, c, l.now()).item(ctx, h.id)
		if err != nil {
			return "", "", err
		}
		if original, ok := originalURL(it); ok {
			return h.property, original, nil
		}
		return "", "", notFound
	}
	return "", "", cmp.Or(holders.incomplete, notFound)
}

// originalURL returns the URL to which the short link of an item leads. Only approved items have such a URL.
func originalURL(it *item.Item) (string, bool) {
	original := it.Content.OriginalURL
	if original == "" && it.Content.Media != nil {
		original = it.Content.Media.OriginalURL
	}
	u, err := url.Parse(original)
	return original, err == nil && it.ApprovalStatus == item.Approved && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}
