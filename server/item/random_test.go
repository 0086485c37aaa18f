package item

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
)

// maker makes random items in the normal form that ParseLine returns.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 1))} }

// often returns true with probability 3/4, so that most items have most members, but each member is sometimes absent.
func (m maker) often() bool { return m.IntN(4) > 0 }

func (m maker) text() string {
	alphabet := []rune("ab Zz09\"\\/<>&'\n\r\t\x00\x1f\x7f\u00e9\u2028\u2029\u6771\U0001F600\uFFFD")
	if !m.often() {
		return ""
	}
	return "x" + string(m.runes(alphabet, 12))
}

func (m maker) runes(alphabet []rune, most int) []rune {
	s := make([]rune, 1+m.IntN(most))
	for i := range s {
		s[i] = alphabet[m.IntN(len(alphabet))]
	}
	return s
}

func (m maker) link() string {
	return m.choice("", "https://media.example.com/a?b=1&c=<2>", "http://x.example/Los Angeles", "/relative", "about:blank")
}

func (m maker) choice(choices ...string) string { return choices[m.IntN(len(choices))] }

func (m maker) date() string {
	return m.choice("", "2015", "2015-02-28", "2026-11-20T08:00:00Z", "2026-11-20T08:00:00.123456789Z", "0001-01-01T00:00:00Z")
}

func (m maker) id() int64 { return 1 + m.Int64N(MaxID) }

// pointer returns a pointer to an id from another system, or nil.
func (m maker) pointer() *int64 {
	if !m.often() {
		return nil
	}
	n := m.Int64() >> m.IntN(63)
	return &n
}

func (m maker) raw() json.RawMessage {
	return json.RawMessage(m.choice(`{"a":[1.50,{"b":null}],"z":"\u003c\u2028"}`, `"x"`, `[]`, `{}`, `0`, `1e300`, `false`, ""))
}

func (m maker) optional() json.RawMessage {
	if raw := m.raw(); len(raw) > 0 {
		return raw
	}
	return nil
}

// item returns an item with a random value for each member of itemTable, so that tests cover a new member too.
func (m maker) item() *Item {
	it := &Item{Tags: m.tags()}
	var present, absent uint8
	for i := range itemObjects {
		if !m.often() {
			absent |= 1 << i
		}
	}
	for _, row := range itemTable.members {
		value := m.value(row.memberOf)
		if row.needs&absent != 0 || !given(value) && row.form != formLatitude && row.form != formLongitude {
			continue
		}
		switch p := itemTable.place(it, row, &present).(type) {
		case *string:
			*p = *value.(*string)
		case *int64:
			*p = **value.(**int64)
		case **int64:
			*p = *value.(**int64)
		case *bool:
			*p = *value.(*bool)
		case *float64:
			*p = *value.(*float64)
		case *json.RawMessage:
			*p = *value.(*json.RawMessage)
		}
	}
	for range m.IntN(3) {
		it.Units = append(it.Units, m.id())
	}
	return it
}

// value returns a pointer to a random value of a member (see memberOf.at). All numbers are optional.
func (m maker) value(row memberOf[Item]) any {
	var s string
	switch row.form {
	case formID, formNumber:
		n := m.id()
		optional := &n
		return &optional
	case formForeign:
		n := m.pointer()
		if n != nil && *n == 0 && row.flag == 0 {
			n = nil // 0 means that there is no number
		}
		return &n
	case formFlag:
		b := m.often()
		return &b
	case formLatitude, formLongitude:
		f := m.Float64()*180 - 90
		return &f
	case formJSON:
		raw := m.optional()
		return &raw
	case formSubmission:
		raw := json.RawMessage(m.choice(`{"email":"a@b.example","username":"a"}`, `{"k\u003c":"v","x":""}`))
		return &raw
	case formLink:
		s = m.link()
	case formDate:
		s = m.date()
	case formCode:
		s = "aZ09"
	case formChoice:
		s = m.choice(row.choices...)
	default:
		s = m.text()
	}
	if s == "" && (row.path == pathCreated || row.path == pathModified) { // ParseLine and Unmarshal would fill it in
		s = "2015"
	}
	return &s
}

func (m maker) tags() []Tag {
	var tags []Tag
	for range m.IntN(5) {
		tags = append(tags, Tag{Namespace: m.choice("hashtags", "marketer_tags", "vibe", "two words\""), Key: string(m.runes([]rune("abcxyz"), 8))})
	}
	slices.SortFunc(tags, CompareTags)
	return slices.Compact(tags)
}

func (m maker) unit(id int64) Unit {
	return Unit{
		ID: id, Name: "unit" + strings.TrimSpace(m.text()), ImageURL: m.link(), ClickThroughURL: m.link(), CatalogItem: m.optional(),
		CatalogImageURLSrc: m.optional(), ExternalID: m.text(), Archived: m.often(), Managed: m.often(), CreatedOn: m.date(),
		LastModified: m.date(), ClickUnitLibrary: m.Int64N(3), ActivateUnitLibrary: m.Int64N(3),
	}
}
