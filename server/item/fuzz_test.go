package item

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

// checkAccepted checks the invariants of an accepted item. Its line must parse back to the same item, and both response forms must be JSON
// with all required members.
func checkAccepted(t *testing.T, l Line) {
	t.Helper()
	line := Marshal(l.Item, l.Units)
	again, err := ParseLine(line, testOptions())
	if err != nil {
		t.Fatalf("parse the export %s: %v", line, err)
	}
	if l.Item.ShortCode == "" && l.Item.ShortenedPermalink == "" {
		t.Errorf("an item without a short link: %s", line)
	}
	if diff := cmp.Diff(l.Item, again.Item); diff != "" {
		t.Fatalf("export and import are not inverse (-item +again):\n%s\n%s", diff, line)
	}
	e := Encode(l.Item)
	for _, a := range []query.Audience{query.Public, query.Private} {
		var m map[string]any
		text := e.Append(nil, a, Slots{})
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatalf("decode %s: %v", text, err)
		}
		if wrong := missing(m, requiredOfItem); wrong != nil {
			t.Fatalf("%q in %s", wrong, text)
		}
	}
}

// checkRefused checks that an error is an *InvalidError.
func checkRefused(t *testing.T, err error) {
	t.Helper()
	if invalid, ok := errors.AsType[*InvalidError](err); !ok || invalid.Reason == "" {
		t.Fatalf("error %v: want an *InvalidError that says why", err)
	}
}

func FuzzParseAdd(f *testing.F) {
	for _, body := range []string{
		`{"content_type":"text","caption":"Hello"}`,
		`{"content_type":"image","content_url":"https://a.example/i.png","tags":{"hashtags":["#İ","ΌΣ"],"x":["a"]},"author":{"username":"a@b"}}`,
		`{"content_type":"video","content_url":"https://a.example/v","video_thumbnail":"http://a","submission":{"username":"u","email":"e","\u0000":""}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		it, err := ParseAdd(body, testOptions())
		if err != nil {
			checkRefused(t, err)
			return
		}
		checkAccepted(t, Line{Item: it})
	})
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"content":{"content_type":"text","text":"\ud83d\ude00","platform_ref:x":"1"},"id":1e3}`))
	f.Add([]byte(`{"content_type":"text","caption":"Hello"}`))
	for seed := range uint64(20) {
		m := newMaker(seed)
		it := m.item()
		var units []Unit
		for _, id := range it.Units {
			units = append(units, m.unit(id))
		}
		f.Add(Marshal(it, units))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		l, err := ParseLine(line, testOptions())
		if err != nil {
			checkRefused(t, err)
			return
		}
		checkAccepted(t, l)
	})
}

func FuzzParsePatch(f *testing.F) {
	f.Add([]byte(`{"approval_status":"app","featured":true,"campaign":5,"claimed":false,"entry_confirmation_sent":true,"activate_units":[1,2]}`))
	f.Add([]byte(`{"submission":{"a":"b","email":null},"configuration":{"a":{"b":null}},"content":{"text":"x","content_state":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := ParsePatch(body)
		if err != nil {
			checkRefused(t, err)
			return
		}
		it := everything()
		if err := p.Apply(it); err != nil {
			checkRefused(t, err)
			if diff := cmp.Diff(everything(), it); diff != "" {
				t.Fatalf("half applied:\n%s", diff)
			}
			return
		}
		checkAccepted(t, Line{Item: it})
	})
}
