package opensearch

import (
	"fmt"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
)

// shownItem is a stored item in the form in which pages need it. It is immutable.
type shownItem struct {
	*item.Item
	encoded item.Encoded
}

// shownItems caches items by their stored text, so that an item on several pages is decoded only once. An entry never becomes outdated,
// because it depends only on the text.
type shownItems struct {
	byText   *otter.Cache[string, *shownItem]
	pressure func() library.Pressure
}

const (
	// shownBytes is the default limit of the cache in bytes.
	shownBytes = 64 << 20
	// shownFor is the lifetime of an entry. It limits how long the bytes of an erased item stay in memory.
	shownFor = time.Minute
	// shownFactor is the approximate size of an entry relative to its text.
	shownFactor = 4
)

func newShownItems(bytes int64, pressure func() library.Pressure) (*shownItems, error) {
	byText, err := otter.New(&otter.Options[string, *shownItem]{
		MaximumWeight:    uint64(bytes),
		Weigher:          func(text string, _ *shownItem) uint32 { return uint32(shownFactor * len(text)) },
		ExpiryCalculator: otter.ExpiryWriting[string, *shownItem](shownFor),
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of items: %w", err)
	}
	return &shownItems{byText, pressure}, nil
}

// get returns the item of a document.
func (c *shownItems) get(s *indices.Stored) (*shownItem, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	if it, ok := c.byText.GetIfPresent(text); ok {
		return it, nil
	}
	decoded, err := s.Item()
	if err != nil {
		return nil, err
	}
	it := &shownItem{decoded, item.Encode(decoded)}
	if c.pressure() == library.Relaxed {
		c.byText.Set(text, it)
	} else {
		c.byText.InvalidateAll()
	}
	return it, nil
}

func (c *shownItems) close() { c.byText.StopAllGoroutines() }
