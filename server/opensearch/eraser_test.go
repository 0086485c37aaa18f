package opensearch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// marker returns a random text. A compressed file contains the text unchanged, because no part of the text occurs elsewhere.
func marker() string {
	r := make([]rune, 12)
	for i := range r {
		r[i] = '一' + rand.N(rune(20_000))
	}
	return string(r)
}

// filesWith returns, for the name of each text, the files below a directory that contain the text.
func filesWith(t *testing.T, dir string, texts map[string]string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process has deleted the file
		}
		for what, text := range texts {
			if bytes.Contains(data, []byte(text)) {
				out[what] = append(out[what], path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestErasing checks that the bytes of a deleted item and of a removed submission disappear from the files of all nodes. This must happen
// even if the replica that made the change stops immediately and the replica that was erasing has crashed. Other items must stay.
func TestErasing(t *testing.T) {
	t.Parallel()
	c := nodetest.NewCluster(t, 2, "512m")
	first, err := Open(t.Context(), Options{URLs: c.URLs(), EraseWithin: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, first, agreedDefinitions()[0])
	// Lucene compresses blocks of up to 8 KiB, and a block boundary can split a text. Then write other content.
	var texts map[string]string
	for attempt := 1; ; attempt++ {
		texts = map[string]string{"deleted": marker(), "submission": marker(), "kept": marker(), "neighbour": marker()}
		withSubmission := image(2, texts["kept"])
		withSubmission.Submission = json.RawMessage(`{"message":"` + texts["submission"] + `"}`)
		marked := []*item.Item{image(1, texts["deleted"]), withSubmission, image(3, texts["neighbour"])}
		var muts []library.Mutation
		for id := item.ID(4); id < 300; id++ {
			text := make([]byte, 300)
			for i := range text {
				text[i] = 'a' + rand.N(byte(26))
			}
			muts = append(muts, library.Mutation{Put: image(id, string(text)), Replace: true})
			if id == 150 {
				for _, it := range marked {
					muts = append(muts, library.Mutation{Put: it, Replace: true})
				}
			}
		}
		mustWrite(t, first, muts...)
		if err := first.cluster.Do(t.Context(), http.MethodPost, "/"+first.names.Items(shop)+"/_flush", nil, nil); err != nil {
			t.Fatal(err)
		}
		awaitCopies(t, first)
		found := filesWith(t, c.Dir(), texts)
		if len(found) == len(texts) {
			break
		}
		if attempt == 5 {
			t.Fatalf("before: %v", found)
		}
	}
	mustWrite(t, first, library.Mutation{Delete: true, ID: 1}, library.Mutation{Put: image(2, texts["kept"]), Replace: true})
	// This claim is neither renewed nor released, like that of a replica that has crashed.
	if _, release, err := first.facts.NewClaim("erasing", time.Hour, time.Hour).Take(t.Context()); err != nil || release == nil {
		t.Fatalf("claim the erasing: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	// The copies of a shard report every 30 seconds which operations they need. A step of the eraser is longer.
	next := onCluster(t, c, 2, Options{EraseWithin: 7 * 40 * time.Second})
	eventually(t, "the end of the note", func() bool {
		note := "/" + first.names.Facts() + "/_doc/erase-" + schema.EncodeProperty(shop)
		return cluster.IsAbsent(next[0].cluster.Do(t.Context(), http.MethodGet, note, nil, nil))
	})
	// Searches that are in progress keep the files of merged segments for a short time.
	var found map[string][]string
	for range 100 {
		found = filesWith(t, c.Dir(), texts)
		if len(found["deleted"])+len(found["submission"]) == 0 || !cluster.Wait(t.Context(), 50*time.Millisecond) {
			break
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, []string{"kept", "neighbour"}) {
		t.Errorf("found %v", found)
	}
	for _, id := range []item.ID{2, 3} {
		if _, err := next[1].ReadItem(t.Context(), library.ItemRead{Property: shop, ID: id}); err != nil {
			t.Errorf("item %d: %v", id, err)
		}
	}
}

// TestErasingNeedsAllCopies checks that a request of the eraser fails if a copy of the shard has not responded.
func TestErasingNeedsAllCopies(t *testing.T) {
	t.Parallel()
	l := replicas(t, 1)[0]
	if err := l.indices.OnAllCopies(t.Context(), shop, "/_flush", time.Minute); err != nil {
		t.Fatal(err)
	}
	// This is more copies than a cluster has nodes.
	settings := object{"index.auto_expand_replicas": false, "index.number_of_replicas": 9}
	if err := l.cluster.Do(t.Context(), http.MethodPut, "/"+l.names.Items(shop)+"/_settings", settings, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.indices.OnAllCopies(t.Context(), shop, "/_flush", time.Minute); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
}
