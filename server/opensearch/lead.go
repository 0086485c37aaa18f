package opensearch

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/records"
)

// leader is the Library that Lead returns. Its changes fail with library.ErrDeposed after another term has begun.
type leader struct {
	*Library
	term string
}

var _ library.Shared = (*Library)(nil)

// Lead makes the caller the leader. See library.Shared. Each call begins a new term. A frozen library does not store the term. While it
// is frozen, the library rejects all changes. The first change after that fails with ErrDeposed.
func (l *Library) Lead(ctx context.Context, name string) (library.Library, error) {
	term := name + "/" + rand.Text()
	var frozen *library.FrozenError
	if err := l.SetMark(ctx, records.MarkLeader, term); err != nil && !errors.As(err, &frozen) {
		return nil, err
	}
	return &leader{l, term}, nil
}

// Apply stores definitions while the caller leads.
func (l *leader) Apply(ctx context.Context, defs []library.Definition) ([]library.Result, error) {
	return l.apply(ctx, l.term, defs)
}

// Remove removes definitions while the caller leads.
func (l *leader) Remove(ctx context.Context, owners []library.Owner) (int, error) {
	return l.remove(ctx, l.term, owners)
}

// Sweep removes definitions while the caller leads.
func (l *leader) Sweep(ctx context.Context, scope library.Scope, keep []library.Owner) (int, error) {
	return l.sweep(ctx, l.term, scope, keep)
}

// SetMark stores a mark while the caller leads.
func (l *leader) SetMark(ctx context.Context, key, value string) error {
	return l.setMark(ctx, l.term, key, value)
}
