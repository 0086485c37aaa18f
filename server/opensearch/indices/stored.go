package indices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
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
	Gone    []int64  `json:"gone"`
	Changed []int64  `json:"changed"`
	Public  []int64  `json:"public"`
	Floor   []int64  `json:"floor"`
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

// Gone reports whether the document is a tombstone.
func (s *Stored) Gone() bool { return len(s.Fields.Gone) > 0 }

// Changed returns one more than the sequence number of the last operation that changed the item. Public does so for its public members. See
// schema.FieldChanged.
func (s *Stored) Changed() int64 { return first(s.Fields.Changed, s.Seq+1) }

// Public is described at Changed.
func (s *Stored) Public() int64 { return first(s.Fields.Public, s.Changed()) }

// Floor returns the value of schema.FieldFloor, or 0.
func (s *Stored) Floor() int64 { return first(s.Fields.Floor, 0) }

// first returns the only value of a field, or another value if there is none.
func first(values []int64, otherwise int64) int64 {
	if len(values) == 1 {
		return values[0]
	}
	return otherwise
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

// Load reads the documents of items as of the last acknowledged write, with some stored fields. The result does not contain items that do not
// exist.
func (ix *Indices) Load(ctx context.Context, alias string, ids []item.ID, fields ...string) (map[item.ID]*Stored, error) {
	out, err := ix.LoadAll(ctx, alias, ids, fields...)
	maps.DeleteFunc(out, func(_ item.ID, s *Stored) bool { return s.Gone() })
	return out, err
}

// LoadAll is like Load, but the result also contains the tombstones of deleted items. A lookup by id ignores the filter of an alias.
func (ix *Indices) LoadAll(ctx context.Context, alias string, ids []item.ID, fields ...string) (map[item.ID]*Stored, error) {
	out := make(map[item.ID]*Stored, len(ids))
	path := fmt.Sprintf("/%s/_mget?stored_fields=%s", alias, strings.Join(append(fields, schema.FieldGone), ","))
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
