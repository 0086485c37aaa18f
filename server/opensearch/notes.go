package opensearch

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/vitrine-dev/vitrine/server/library"
)

// noteID returns the id of a property's note in the facts index. The note says that a write erases data of the property, or has erased it.
func noteID(p library.PropertyID) string { return "erase-" + encodeProperty(p) }

// putNote stores the note of a property.
func (f *facts) putNote(ctx context.Context, p library.PropertyID) error {
	op := operation{index: f.names.facts(), id: noteID(p), doc: fact{Token: rand.Text()}, over: true}
	if err := failure(f.cluster.bulk(ctx, []operation{op}, refreshNone)); err != nil {
		return fmt.Errorf("record that deleted items must be erased: %w", err)
	}
	return nil
}

// note is the note of a property in a response.
type note struct {
	version
	presence
	ID string `json:"_id"`
}

// notes returns the states of the notes of those of the properties that have a note.
func (f *facts) notes(ctx context.Context, properties []library.PropertyID) (map[library.PropertyID]version, error) {
	ids, of := []string{}, map[string]library.PropertyID{}
	for _, p := range properties {
		ids, of[noteID(p)] = append(ids, noteID(p)), p
	}
	answer := documentsOf[note]{wanted: len(ids)}
	if err := f.cluster.do(ctx, http.MethodPost, "/"+f.names.facts()+"/_mget?_source=false", object{"ids": ids}, &answer); err != nil {
		return nil, fmt.Errorf("find the properties whose deleted items must be erased: %w", err)
	}
	notes := map[library.PropertyID]version{}
	for _, d := range answer.Docs {
		if d.Error != nil {
			return nil, fmt.Errorf("find the properties whose deleted items must be erased: %w", d.Error.failure(http.StatusServiceUnavailable))
		}
		if d.exists() {
			notes[of[d.ID]] = d.version
		}
	}
	return notes, nil
}

// deleteNote deletes the note of a property, unless a write has stored it again.
func (f *facts) deleteNote(ctx context.Context, p library.PropertyID, at version) error {
	op := operation{index: f.names.facts(), id: noteID(p), at: &at}
	return f.cluster.bulk(ctx, []operation{op}, refreshNone)[0].err
}
