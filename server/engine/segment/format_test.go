package segment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// formatItems has items with a value in every field, and with words that text analysis must split and fold.
var formatItems = []string{
	`{"id":1,"approval_status":"app","campaign":5,"submission":{"email":"ann@posts.example","age":"7"},"short_code":"AbCdEf1234","created_on":"2025-11-20T08:00:00Z",
	"hashtag":{"social_platform":"instagram","id":9,"hashtag_text":"Summer"},"featured":true,"configuration":{"a":[1,2.5,null]},"claimed":true,
	"content":{"content_type":"video","text":"ÉTÉ in the city’s 1st café — 東京 can't\u00a0stop","social_platform":"instagram","created_on":"2025-11-19","content_state":"active","platform_ref:instagram":"77",
	"platform_data":{"geo_data":{"type":"Point","coordinates":{"latitude":35.5,"longitude":-139.25}},"location":{"country_code":"JP","country":"Japan","full_name":"Shibuya, Tokyo","name":"Tokyo"},"social_platform_original_url":"https://posts.example/1"},
	"author":{"profile":{"username":"ann","name":"Ann Bee","profile_link":"https://posts.example/ann","avatar":"https://posts.example/a.png"},"platform_id":"p1","social_platform":"instagram","username":"ann","id":12},
	"media":{"original_url":"https://media.example/1.mp4","base_url":"https://media.example/","mediatype":"video","social_platform":"instagram","media_urls":{"small_image":"https://media.example/s.jpg"},"id":3}},
	"tags":{"hashtags":[{"key":"summer"},{"key":"été"}],"marketer_tags":[{"key":"hero"}]},"activate_units":[{"id":4,"managed":true},{"id":2,"managed":true}]}`,
	`{"id":2,"approval_status":"rej","created_on":"2025-11-20T08:00:00Z","content":{"content_type":"text","text":"The city that never sleeps: the CITY","author":{"profile":{"name":"!"}}}}`,
	`{"id":3,"content":{"content_type":"image"}}`,
}

// formatDigest is a digest of the number of the format and of the content of a segment of formatItems.
const formatDigest = "3220a01323600ec22761c08e89063f9af613c0856cce5dddb4d3f5cf8f7e9681fa49"

// TestFormat fails if the content of segments changes without a new format. Otherwise, the server would serve existing files with old
// content.
func TestFormat(t *testing.T) {
	docs := make([]Doc, len(formatItems))
	for i, line := range formatItems {
		it, err := item.Unmarshal([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		docs[i] = NewDoc(it)
	}
	s, err := Build(docs)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	describe(sum, s)
	if got := hex.EncodeToString(sum.Sum([]byte(magic[len(magicAny):] + " "))); got != formatDigest {
		t.Errorf("the content of segments has changed: unless item.Format has changed too, increase otherChanges (see magic), so that existing files are rebuilt. Set formatDigest to\n%s", got)
	}
}

// describe writes the content of a segment in a form that does not depend on the segment's bytes, because compression may differ between
// machines.
func describe(w io.Writer, s *Segment) {
	n := uint32(s.Len())
	var u item.Unpacker
	for doc := range n {
		response, _ := u.Append(nil, s.Item(doc), query.Private, item.Slots{})
		fmt.Fprintf(w, "item %d %d %d %v %q\n", doc, s.ID(doc), s.Created(doc), s.Units(doc), response)
	}
	for f := range s.Fields() {
		fmt.Fprintf(w, "field %s %v %d %d %v\n", f.Name(), f.Type(), f.Ranked(), f.Terms(), f.Present().ToArray())
		switch f.Type() {
		case query.Text, query.Keyword, query.Boolean:
			for term, postings := range f.Ascend("") {
				fmt.Fprintf(w, "term %q", term)
				it := postings.Iterator()
				for doc, ok := it.Next(); ok; doc, ok = it.Next() {
					fmt.Fprintf(w, " %d", doc)
					if f.Type() == query.Text {
						fmt.Fprintf(w, "×%d at %d of %d", it.Freq(), it.Positions(nil), f.Length(doc))
					}
				}
				fmt.Fprintln(w)
			}
		default:
			for doc := range n {
				number, ok := f.Number(doc)
				fmt.Fprintln(w, "number", doc, number, ok)
			}
		}
	}
}
