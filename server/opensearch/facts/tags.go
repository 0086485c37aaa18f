package facts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// Tags stores the tags that exist or existed, one document for each. This replica remembers some of the stored tags.
type Tags struct {
	cluster *cluster.Client
	names   schema.Names
	mu      sync.Mutex
	stored  map[string]bool
}

// rememberedTags limits the number of remembered tags.
const rememberedTags = 20_000

// tagID returns the id of a tag's document. Namespaces and keys cannot contain NUL.
func tagID(p library.PropertyID, t item.Tag) string {
	sum := sha256.Sum256([]byte(string(p) + "\x00" + t.Namespace + "\x00" + t.Key))
	return "tag-" + hex.EncodeToString(sum[:])
}

// tagFact returns the document of a tag.
func tagFact(p library.PropertyID, t item.Tag) fact {
	return fact{Property: p, Namespace: t.Namespace, Key: t.Key}
}

// Knows reports whether this replica remembers that a tag is stored.
func (m *Tags) Knows(p library.PropertyID, t item.Tag) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored[tagID(p, t)]
}

// Add stores those of the given tags that this replica does not remember.
func (m *Tags) Add(ctx context.Context, p library.PropertyID, tags ...item.Tag) error {
	var ops []cluster.Operation
	for _, t := range tags {
		if !m.Knows(p, t) {
			ops = append(ops, cluster.Operation{Index: m.names.Facts(), ID: tagID(p, t), Doc: tagFact(p, t)})
		}
	}
	if len(ops) == 0 {
		return nil
	}
	// A conflict means that the tag is already stored.
	if err := cluster.FirstError(m.cluster.Bulk(ctx, ops, cluster.RefreshNone)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stored == nil || len(m.stored) > rememberedTags {
		m.stored = map[string]bool{}
	}
	for _, op := range ops {
		m.stored[op.ID] = true
	}
	return nil
}

// forget forgets all remembered tags.
func (m *Tags) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored = nil
}

// Has reports whether a tag is stored.
func (m *Tags) Has(ctx context.Context, p library.PropertyID, t item.Tag) (bool, error) {
	if m.Knows(p, t) {
		return true, nil
	}
	err := m.cluster.Do(ctx, http.MethodGet, "/"+m.names.Facts()+"/_doc/"+tagID(p, t)+"?_source=false", nil, &cluster.Existing{})
	if cluster.IsAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up a tag: %w", err)
	}
	return true, nil
}
