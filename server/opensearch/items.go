package opensearch

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/translate"
)

// ReadItem returns one item. See library.Library.
func (l *Library) ReadItem(ctx context.Context, r library.ItemRead) ([]byte, error) {
	return withView(ctx, l, r.Property, time.Time{}, func(ctx context.Context, v *view) ([]byte, error) {
		it, err := v.item(ctx, r.ID)
		if err == nil && r.Scope != nil {
			err = v.inScope(ctx, r.Scope, it)
		}
		if err != nil {
			return nil, err
		}
		if r.Digest != nil {
			*r.Digest = it.Digest()
		}
		shown, err := v.shownUnits(ctx, []*item.Item{it})
		if err != nil {
			return nil, err
		}
		return item.Encode(it).Append(nil, r.Audience, v.catalogue.Slots(shown[0], r.BaseURL)), nil
	})
}

// inScope fails with ErrNotFound if an item does not match the scope of a token.
func (v *view) inScope(ctx context.Context, scope *library.TokenScope, it *item.Item) error {
	root, err := v.plan(ctx, scope.Part(), v.now)
	if err != nil {
		return err
	}
	doc, err := v.document(ctx, it)
	if err != nil {
		return err
	}
	corpus := eval.NewCorpus()
	corpus.Put(doc)
	hits, err := translate.Evaluate(ctx, corpus, root)
	if err == nil && len(hits) == 0 {
		err = library.UnknownItem(it.ID)
	}
	return err
}

// ItemTags lists the tags of one item. See library.Library.
func (l *Library) ItemTags(ctx context.Context, p library.PropertyID, id item.ID) ([]item.Tag, error) {
	return withView(ctx, l, p, time.Time{}, func(ctx context.Context, v *view) ([]item.Tag, error) {
		it, err := v.item(ctx, id)
		if err != nil {
			return nil, err
		}
		tags, err := v.shownTags(ctx, []*item.Item{it}, true)
		if err != nil {
			return nil, err
		}
		return tags[0], nil
	})
}

// History returns the newest changes of an item. See library.Library.
func (l *Library) History(ctx context.Context, p library.PropertyID, id item.ID) ([]library.HistoryEntry, error) {
	return withView(ctx, l, p, time.Time{}, func(ctx context.Context, v *view) ([]library.HistoryEntry, error) {
		found, err := v.indices.Load(ctx, v.index(), []item.ID{id}, schema.FieldHistory)
		if err == nil && found[id] == nil {
			err = library.UnknownItem(id)
		}
		if err != nil {
			return nil, err
		}
		return mutations.ReadHistory([]byte(found[id].History()), v.catalogue.Spec.KeptHistory())
	})
}

// HasTag reports whether a tag exists or existed. See library.Library.
func (l *Library) HasTag(p library.PropertyID, t item.Tag) (bool, error) {
	return withView(context.Background(), l, p, time.Time{}, func(ctx context.Context, _ *view) (bool, error) {
		return l.facts.Tags.Has(ctx, p, t)
	})
}

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
	holders, err := l.codeHolders(ctx, l.records.Now().Set, []string{code})
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
