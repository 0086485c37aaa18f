package opensearch

import (
	"context"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// ReadItem returns one item. See library.Library.
func (l *Library) ReadItem(ctx context.Context, r library.ItemRead) ([]byte, error) {
	return withView(ctx, l, r.Property, time.Time{}, func(ctx context.Context, v *view) ([]byte, error) {
		it, err := v.item(ctx, r.ID)
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

// HasTag reports whether a tag exists or existed. See library.Library.
func (l *Library) HasTag(p library.PropertyID, t item.Tag) (bool, error) {
	ctx, end, err := l.reading(context.Background())
	if err != nil {
		return false, err
	}
	defer end()
	if _, err := l.Served(p); err != nil {
		return false, err
	}
	return l.facts.tags.has(ctx, p, t)
}
