package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestTagsBeyondTheLimits checks that a store of an earlier version, with more tags on an item and more tag namespaces than the limits
// allow, opens. Its items can be read, changed in any way that adds no tag, and deleted. Manifests do not count.
func TestTagsBeyondTheLimits(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, put(1, "beach", "code1"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	const namespaces = item.MaxPropertyNamespaces + 50
	over := put(7, "sea", "code7")
	over.Replace = true
	edit(t, dir, func(db *pebble.DB) error {
		authorKey, err := get(db, []byte(keyAuthorKey))
		if err != nil {
			return err
		}
		namer := mutations.NewNamer(authorKey)
		declared := item.Tag{Namespace: "declared", Key: "bold"} // as if only a manifest had assigned it
		errs := []error{db.Set(tagKey(shop, declared), nil, nil)}
		for i := range namespaces {
			tag := item.Tag{Namespace: fmt.Sprintf("n%03d", i), Key: "bold"}
			over.Put.Tags = append(over.Put.Tags, tag)
			errs = append(errs, db.Set(tagKey(shop, tag), nil, nil), db.Set(nameKey(shop, namer.Sum(query.TagFieldName(tag.Namespace))), nil, nil))
		}
		return errors.Join(append(errs, db.Set(itemKey(shop, 7), item.Encode(over.Put), nil))...)
	})
	l = mustOpen(t, Options{Dir: dir})
	if n := len(l.served.properties[shop].namespaces); n != namespaces {
		t.Errorf("%d namespaces, want %d", n, namespaces)
	}
	fewer := put(7, "sea", "code7")
	fewer.Replace, fewer.Put.Tags = true, over.Put.Tags[:namespaces-10]
	tag := func(namespace, key string, id item.ID) library.Mutation {
		return library.Mutation{Tag: &item.Tag{Namespace: namespace, Key: key}, IDs: []item.ID{id}}
	}
	steps := []struct {
		what    string
		m       library.Mutation
		refused bool
	}{
		{"a new namespace", tag("new", "bold", 1), true},
		{"the namespace of a manifest, which is new to items", tag("declared", "bold", 1), true},
		{"a namespace that is there", tag("n000", "calm", 1), false},
		{"another tag", tag("n000", "calm", 7), true},
		{"a tag that the item has", tag("n001", "bold", 7), false},
		{"the same item", over, false},
		{"an item with fewer tags", fewer, false},
		{"the former number of tags", over, true},
		{"a tag less", library.Mutation{Untag: &item.Tag{Namespace: "n000", Key: "bold"}, IDs: []item.ID{7}}, false},
		{"no item", library.Mutation{Delete: true, ID: 7}, false},
	}
	for _, step := range steps {
		outcomes, err := l.Write(t.Context(), shop, []library.Mutation{step.m})
		if err != nil {
			t.Fatal(err)
		}
		if _, refused := errors.AsType[*item.InvalidError](outcomes[0].Err); refused != step.refused || !refused && outcomes[0].Err != nil {
			t.Errorf("%s: %v, want refused: %t", step.what, outcomes[0].Err, step.refused)
		}
	}
}
