package opensearch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// madeTags stores the tags that exist or existed, one document for each. This replica remembers some of the stored tags.
type madeTags struct {
	cluster *cluster
	names   names
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

// knows reports whether this replica remembers that a tag is stored.
func (m *madeTags) knows(p library.PropertyID, t item.Tag) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored[tagID(p, t)]
}

// add stores those of the given tags that this replica does not remember.
func (m *madeTags) add(ctx context.Context, p library.PropertyID, tags ...item.Tag) error {
	var ops []operation
	for _, t := range tags {
		if !m.knows(p, t) {
			ops = append(ops, operation{index: m.names.facts(), id: tagID(p, t), doc: tagFact(p, t)})
		}
	}
	if len(ops) == 0 {
		return nil
	}
	// A conflict means that the tag is already stored.
	if err := failure(m.cluster.bulk(ctx, ops, refreshNone)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stored == nil || len(m.stored) > rememberedTags {
		m.stored = map[string]bool{}
	}
	for _, op := range ops {
		m.stored[op.id] = true
	}
	return nil
}

// forget forgets all remembered tags.
func (m *madeTags) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored = nil
}

// has reports whether a tag is stored.
func (m *madeTags) has(ctx context.Context, p library.PropertyID, t item.Tag) (bool, error) {
	if m.knows(p, t) {
		return true, nil
	}
	err := m.cluster.do(ctx, http.MethodGet, "/"+m.names.facts()+"/_doc/"+tagID(p, t)+"?_source=false", nil, &existing{})
	if isAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up a tag: %w", err)
	}
	return true, nil
}
