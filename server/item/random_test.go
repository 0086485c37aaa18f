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

func (m maker) item() *Item {
	it := &Item{
		ID:                    m.id(),
		EntryConfirmationSent: m.often(),
		ApprovalStatus:        m.choice(Approved, Rejected, Pending),

		ShortenedPermalink: m.link(),
		ShortCode:          "aZ09",
		CreatedOn:          m.choice("2015", "2015-02-28", "2026-11-20T08:00:00Z"),
		Featured:           m.often(),
		Configuration:      m.optional(),
		Claimed:            m.often(),
		Content: Content{
			OriginalURL:             m.link(),
			Text:                    m.text(),
			SocialPlatformCreatedOn: m.date(),
			PlatformRef:             m.text(),
			ContentState:            m.choice("", Active, "hidden"),
			SocialPlatform:          m.choice("", "instagram", Direct, `odd"one`),
			CreatedOn:               m.date(),
			ContentType:             m.choice(Image, Video, Text),
		},
		Tags: m.tags(),
	}
	if m.often() {
		n := m.id() - 1
		it.Campaign = &n
	}
	if m.often() {
		it.Submission = json.RawMessage(m.choice(`{"email":"a@b.example","username":"a"}`, `{"k\u003c":"v","x":""}`))
	}
	if m.often() {
		it.Hashtag = orNil(Hashtag{SocialPlatform: m.text(), ID: m.id(), Text: m.text()})
	}
	c := &it.Content
	if m.often() {
		c.Geo = &Geo{Type: m.text(), Latitude: m.Float64()*180 - 90, Longitude: float64(m.IntN(361) - 180)}
	}
	if m.often() {
		c.Location = orNil(Location{
			CountryCode: m.text(), URL: m.link(), Country: m.text(), PlaceType: m.text(), Type: m.text(),
			FullName: m.text(), Name: m.text(), BoundingBox: m.text(), Coordinates: m.text(),
		})
	}
	if m.often() {
		c.Author = orNil(Author{
			Username: m.text(), ProfileName: m.text(), ProfileUser: m.text(), ProfileLink: m.link(), Avatar: m.link(),
			PlatformID: m.text(), SocialPlatform: m.text(), CreatedOn: m.date(), ID: m.pointer(),
		})
	}
	if m.often() {
		c.Media = orNil(Media{
			PlatformURL: m.link(), OriginalURL: m.link(), BaseURL: m.link(), MediaType: m.text(), SocialPlatform: m.text(),
			SmallImage: m.link(), MediumImage: m.link(), LargeImage: m.link(), ID: m.pointer(),
		})
	}
	for range m.IntN(3) {
		it.Units = append(it.Units, m.id())
	}
	return it
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
