package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/vitrine-dev/vitrine/server/item"
)

// stored is the document of an item in a response, with the stored fields that the request names.
type stored struct {
	version
	ID     item.ID      `json:"_id,string"`
	Fields storedFields `json:"fields"`
}

// storedFields contains the stored fields in the document of an item.
type storedFields struct {
	Item  []string `json:"item"`
	Write []string `json:"write"`
}

// errNoItem means that the document of an item does not contain the item.
var errNoItem = errors.New("the OpenSearch document of the item has no stored item")

// text returns the stored text of the item.
func (s *stored) text() (string, error) {
	if len(s.Fields.Item) != 1 {
		return "", fmt.Errorf("read item %d: %w", s.ID, errNoItem)
	}
	return s.Fields.Item[0], nil
}

// item decodes the item.
func (s *stored) item() (*item.Item, error) {
	text, err := s.text()
	if err != nil {
		return nil, err
	}
	it, err := item.Unmarshal([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read item %d: %w", s.ID, err)
	}
	return it, nil
}

// token returns the token of the write that stored the item.
func (s *stored) token() string {
	if len(s.Fields.Write) != 1 {
		return ""
	}
	return s.Fields.Write[0]
}

// lookedUpItem is an item in a response to a lookup by id.
type lookedUpItem struct {
	stored
	presence
}

// loadAtOnce is the maximum number of items that one request looks up.
const loadAtOnce = 10_000

// load reads the documents of items as of the last acknowledged write, with one stored field, or with none for fieldNone. The result does
// not contain items that do not exist.
func (ix *indices) load(ctx context.Context, alias string, ids []item.ID, field string) (map[item.ID]*stored, error) {
	out := make(map[item.ID]*stored, len(ids))
	path := fmt.Sprintf("/%s/_mget?stored_fields=%s", alias, field)
	for chunk := range slices.Chunk(ids, loadAtOnce) {
		answer := documentsOf[lookedUpItem]{wanted: len(chunk)}
		if err := ix.cluster.do(ctx, http.MethodPost, path, object{"ids": chunk}, &answer); err != nil {
			return nil, fmt.Errorf("look up items: %w", err)
		}
		for _, d := range answer.Docs {
			if d.Error != nil {
				return nil, fmt.Errorf("look up item %d: %w", d.ID, d.Error.failure(http.StatusServiceUnavailable))
			}
			if d.exists() {
				out[d.ID] = &d.stored
			}
		}
	}
	return out, nil
}
