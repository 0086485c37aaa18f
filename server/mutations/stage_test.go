package mutations_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// stored is a Base with at most one item, whose id is 1.
type stored struct{ item *item.Item }

func (b stored) Item(id item.ID) (*item.Item, error) {
	if id != 1 {
		return nil, nil
	}
	return b.item, nil
}
func (b stored) Exists(id item.ID) (bool, error)        { return id == 1 && b.item != nil, nil }
func (b stored) Unit(int64) bool                        { return false }
func (b stored) CodeHeld(string, item.ID) (bool, error) { return false, nil }
func (b stored) TagMade(item.Tag) bool                  { return false }
func (b stored) NameKnown(mutations.NameSum) bool       { return false }
func (b stored) Names() int                             { return 0 }
func (b stored) Namespaces() int                        { return 0 }
func (b stored) TagOwner(item.Tag, item.ID) (library.Owner, bool, error) {
	return library.Owner{}, false, nil
}

func TestExtent(t *testing.T) {
	const before = "2026-11-20T08:00:00Z"
	it := func(text, submission string) *item.Item {
		it := &item.Item{ID: 1, CreatedOn: before, LastModified: before, Content: item.Content{Text: text}}
		if submission != "" {
			it.Submission = json.RawMessage(submission)
		}
		return it
	}
	put := func(text, submission string) library.Mutation {
		return library.Mutation{Put: it(text, submission), Replace: true}
	}
	patch := func(body string) library.Mutation {
		p, err := item.ParsePatch([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return library.Mutation{Patch: p, ID: 1}
	}
	tag, ids := item.Tag{Namespace: "vibe", Key: "beach"}, []item.ID{1}
	erase, add, remove := library.Mutation{Delete: true, ID: 1}, library.Mutation{Tag: &tag, IDs: ids}, library.Mutation{Untag: &tag, IDs: ids}
	for name, c := range map[string]struct {
		stored    *item.Item
		mutations []library.Mutation
		want      mutations.Extent
	}{
		"created":                         {nil, []library.Mutation{put("a", "")}, mutations.AnyMember},
		"created and patched":             {nil, []library.Mutation{put("a", ""), patch(`{"submission":{"a":"1"}}`)}, mutations.AnyMember},
		"created and deleted":             {nil, []library.Mutation{put("a", ""), erase}, mutations.Nothing},
		"deleted":                         {it("a", ""), []library.Mutation{erase}, mutations.AnyMember},
		"replaced by another":             {it("a", ""), []library.Mutation{put("b", "")}, mutations.AnyMember},
		"replaced by the same":            {it("a", `{"a":"1"}`), []library.Mutation{put("a", `{"a":"1"}`)}, mutations.Nothing},
		"deleted and created":             {it("a", ""), []library.Mutation{erase, put("a", "")}, mutations.PrivateMembers},
		"deleted and created as another":  {it("a", ""), []library.Mutation{erase, put("b", "")}, mutations.AnyMember},
		"no change":                       {it("a", ""), []library.Mutation{patch(`{"content":{"text":"a"}}`)}, mutations.Nothing},
		"a public member":                 {it("a", ""), []library.Mutation{patch(`{"content":{"text":"b"}}`)}, mutations.AnyMember},
		"a tag":                           {it("a", ""), []library.Mutation{add}, mutations.AnyMember},
		"a tag and back":                  {it("a", ""), []library.Mutation{add, remove}, mutations.PrivateMembers},
		"a submission":                    {it("a", ""), []library.Mutation{patch(`{"submission":{"a":"1"}}`)}, mutations.PrivateMembers},
		"another submission":              {it("a", `{"a":"1"}`), []library.Mutation{patch(`{"submission":{"a":"2"}}`)}, mutations.PrivateMembers},
		"no submission":                   {it("a", `{"a":"1"}`), []library.Mutation{patch(`{"submission":null}`)}, mutations.PrivateMembers},
		"a submission and a text":         {it("a", ""), []library.Mutation{patch(`{"submission":{"a":"1"},"content":{"text":"b"}}`)}, mutations.AnyMember},
		"a text, then a submission":       {it("a", ""), []library.Mutation{patch(`{"content":{"text":"b"}}`), patch(`{"submission":{"a":"1"}}`)}, mutations.AnyMember},
		"a text and back, a submission":   {it("a", ""), []library.Mutation{patch(`{"content":{"text":"b"}}`), put("a", `{"a":"1"}`)}, mutations.PrivateMembers},
		"a submission, then another text": {it("a", ""), []library.Mutation{patch(`{"submission":{"a":"1"}}`), put("b", "")}, mutations.AnyMember},
	} {
		t.Run(name, func(t *testing.T) {
			s := mutations.NewStage("shop/default", stored{c.stored}, map[string]bool{})
			s.Namer, s.Now, s.Sequence = mutations.NewNamer(nil), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), 1
			for _, m := range c.mutations {
				if out := s.Mutate(m); out.Err != nil {
					t.Fatal(out.Err)
				}
			}
			if len(s.Items) != 1 || s.Items[0].Extent != c.want {
				t.Errorf("staged %+v, want one item with extent %d", s.Items, c.want)
			}
		})
	}
}
