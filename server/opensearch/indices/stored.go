package indices

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
)

// Stored is the document of an item in a response, with the stored fields that the request names.
type Stored struct {
	cluster.Version
	ID     item.ID      `json:"_id,string"`
	Fields StoredFields `json:"fields"`
}

// StoredFields contains the stored fields in the document of an item.
type StoredFields struct {
	Item    []string `json:"item"`
	Write   []string `json:"write"`
	History []string `json:"history"`
}

// ErrNoItem means that the document of an item does not contain the item.
var ErrNoItem = errors.New("the OpenSearch document of the item has no stored item")

// Text returns the stored text of the item.
func (s *Stored) Text() (string, error) {
	if len(s.Fields.Item) != 1 {
		return "", fmt.Errorf("read item %d: %w", s.ID, ErrNoItem)
	}
	return s.Fields.Item[0], nil
}

// History returns the stored history of the item, or "" if there is none.
func (s *Stored) History() string {
	if len(s.Fields.History) != 1 {
		return ""
	}
	return s.Fields.History[0]
}

// Item decodes the item.
func (s *Stored) Item() (*item.Item, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	it, err := item.Unmarshal([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read item %d: %w", s.ID, err)
	}
	return it, nil
}

// Token returns the token of the write that stored the item.
func (s *Stored) Token() string {
	if len(s.Fields.Write) != 1 {
		return ""
	}
	return s.Fields.Write[0]
}

// lookedUpItem is an item in a response to a lookup by id.
type lookedUpItem struct {
	Stored
	cluster.Presence
}

// loadAtOnce is the maximum number of items that one request looks up.
const loadAtOnce = 10_000

// Load reads the documents of items as of the last acknowledged write, with some stored fields, or with none for schema.FieldNone. The
// result does not contain items that do not exist.
func (ix *Indices) Load(ctx context.Context, alias string, ids []item.ID, fields ...string) (map[item.ID]*Stored, error) {
	out := make(map[item.ID]*Stored, len(ids))
	path := fmt.Sprintf("/%s/_mget?stored_fields=%s", alias, strings.Join(fields, ","))
	for chunk := range slices.Chunk(ids, loadAtOnce) {
		answer := cluster.DocumentsOf[lookedUpItem]{Wanted: len(chunk)}
		if err := ix.Cluster.Do(ctx, http.MethodPost, path, object{"ids": chunk}, &answer); err != nil {
			return nil, fmt.Errorf("look up items: %w", err)
		}
		for _, d := range answer.Docs {
			if d.Error != nil {
				return nil, fmt.Errorf("look up item %d: %w", d.ID, d.Error.Failure(http.StatusServiceUnavailable))
			}
			if d.Exists() {
				out[d.ID] = &d.Stored
			}
		}
	}
	return out, nil
}
