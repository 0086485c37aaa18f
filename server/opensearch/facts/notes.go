package facts

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// noteID returns the id of a property's note in the facts index. The note says that a write erases data of the property, or has erased it.
func noteID(p library.PropertyID) string { return "erase-" + schema.EncodeProperty(p) }

// PutNote stores the note of a property.
func (f *Facts) PutNote(ctx context.Context, p library.PropertyID) error {
	op := cluster.Operation{Index: f.names.Facts(), ID: noteID(p), Doc: fact{Token: rand.Text()}, Over: true}
	if err := cluster.FirstError(f.cluster.Bulk(ctx, []cluster.Operation{op}, cluster.RefreshNone)); err != nil {
		return fmt.Errorf("record that deleted items must be erased: %w", err)
	}
	return nil
}

// note is the note of a property in a response.
type note struct {
	cluster.Version
	cluster.Presence
	ID string `json:"_id"`
}

// Notes returns the states of the notes of those of the properties that have a note.
func (f *Facts) Notes(ctx context.Context, properties []library.PropertyID) (map[library.PropertyID]cluster.Version, error) {
	ids, of := []string{}, map[string]library.PropertyID{}
	for _, p := range properties {
		ids, of[noteID(p)] = append(ids, noteID(p)), p
	}
	answer := cluster.DocumentsOf[note]{Wanted: len(ids)}
	if err := f.cluster.Do(ctx, http.MethodPost, "/"+f.names.Facts()+"/_mget?_source=false", object{"ids": ids}, &answer); err != nil {
		return nil, fmt.Errorf("find the properties whose deleted items must be erased: %w", err)
	}
	notes := map[library.PropertyID]cluster.Version{}
	for _, d := range answer.Docs {
		if d.Error != nil {
			return nil, fmt.Errorf("find the properties whose deleted items must be erased: %w", d.Error.Failure(http.StatusServiceUnavailable))
		}
		if d.Exists() {
			notes[of[d.ID]] = d.Version
		}
	}
	return notes, nil
}

// DeleteNote deletes the note of a property, unless a write has stored it again.
func (f *Facts) DeleteNote(ctx context.Context, p library.PropertyID, at cluster.Version) error {
	op := cluster.Operation{Index: f.names.Facts(), ID: noteID(p), At: &at}
	return f.cluster.Bulk(ctx, []cluster.Operation{op}, cluster.RefreshNone)[0].Err
}
