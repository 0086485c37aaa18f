package store

import (
	"bytes"
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/parallel"
)

// History returns the newest changes of an item (see library.Library).
func (s *Store) History(_ context.Context, p library.PropertyID, id item.ID) ([]library.HistoryEntry, error) {
	served, err := s.Served(p)
	if err != nil {
		return nil, err
	}
	type answer struct {
		exists bool
		stored []byte
	}
	found, err := lookUp(s, func(f finder) (a answer, err error) {
		if a.exists, err = f.has(itemKey(p, id)); err != nil {
			return a, err
		}
		value, _, err := f.find(historyKey(p, id))
		a.stored = bytes.Clone(value)
		return a, err
	})
	if err == nil && !found.exists {
		err = library.UnknownItem(id)
	}
	if err != nil {
		return nil, err
	}
	return mutations.ReadHistory(found.stored, served.Spec.KeptHistory())
}

// putHistories adds the changed histories of items to the batch.
func (c *change) putHistories(b *pebble.Batch, p library.PropertyID, st *mutations.Stage) error {
	values, err := c.storedHistories(p, st.Items)
	if err != nil {
		return err
	}
	errs := make([]error, len(values))
	parallel.Each(len(values), func(i int) {
		if it := &st.Items[i]; len(it.History) > 0 {
			values[i], errs[i] = mutations.AddHistory(values[i], it.History, st.KeepHistory)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, it := range st.Items {
		var err error
		switch {
		case len(it.History) > 0:
			err = b.Set(historyKey(p, it.ID), values[i], nil)
		case it.Existed && (it.NewHistory || st.KeepHistory == 0):
			err = b.Delete(historyKey(p, it.ID), nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storedHistories returns the stored histories of those items that get further entries. The other elements are nil.
func (c *change) storedHistories(p library.PropertyID, items []mutations.Item) ([][]byte, error) {
	var wanted []int
	for i, it := range items {
		if it.Existed && !it.NewHistory && len(it.History) > 0 {
			wanted = append(wanted, i)
		}
	}
	if len(wanted) == 0 {
		return make([][]byte, len(items)), nil
	}
	values, err := ask(c.s, func(db *pebble.DB) ([][]byte, error) {
		values := make([][]byte, len(items))
		err := findAll(db, len(wanted), func(f finder, i int) error {
			at := wanted[i]
			value, _, err := f.find(historyKey(p, items[at].ID))
			values[at] = bytes.Clone(value)
			return err
		})
		return values, err
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return values, nil
}
