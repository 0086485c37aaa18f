package opensearch

import (
	"context"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// withView runs a read of a property with a view of the property at a time, or at the current time if the time is zero.
func withView[T any](ctx context.Context, l *Library, p library.PropertyID, at time.Time, read func(context.Context, *view) (T, error)) (out T, err error) {
	ctx, end, err := l.reading(ctx)
	if err != nil {
		return out, err
	}
	defer end()
	c, err := l.Served(p)
	if err != nil {
		return out, err
	}
	if at.IsZero() {
		at = l.now()
	}
	return read(ctx, newView(l.conn, c, at))
}

// withListing is like withView, for a read of the listing that r requests. It leaves out the selectors that OpenSearch refuses.
func withListing[T any](ctx context.Context, l *Library, r library.Read, read func(context.Context, *view, library.Listing) (T, error)) (T, error) {
	return withView(ctx, l, r.Property, r.Now, func(ctx context.Context, v *view) (out T, err error) {
		r.Now = v.now
		listing, err := v.catalogue.Listing(r)
		if err != nil {
			return out, err
		}
		return withoutRefused(ctx, v, func(v *view) (T, error) { return read(ctx, v, listing) })
	})
}
