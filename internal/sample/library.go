package sample

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

//go:embed vocabulary.yaml
var vocabularyFile []byte

// vocabulary is the content of vocabulary.yaml.
type vocabulary struct {
	Platforms, States, ContentTypes, Interests, Moods, MarketerTags, Emoji []string
	Hashtags                                                               string
	Languages                                                              []struct {
		Share, Vocabulary      int
		Gap, Common, Syllables string
	}
}

// Library generates a library of any size. Its items resemble real items: each has 2.3 KiB of JSON and ten unique strings, the texts are in
// seven languages and their words follow Zipf's law, and the dates cover three years. It is safe for concurrent use.
type Library struct {
	*vocabulary
	hashtags   []string
	places     []place
	languages  []spoken
	byShare    []int // indices of languages; a language occurs as often as its share in percent
	tagRanks   Zipf
	campaigned Zipf
}

// spoken is a language with all of its words, most frequent first.
type spoken struct {
	gap   string
	words []string
	ranks Zipf
}

// Numbers of campaigns, authors and conversion units. Two items in seven have a unit.
const (
	campaigns = 200
	authors   = 40000
	units     = 50
)

// newest is the creation time of the newest items. The oldest items are three years older than this, and two thirds of all items are from
// the last of the three years.
var newest = time.Date(2026, time.November, 15, 20, 0, 0, 0, time.UTC)

const span = 3 * 365 * 24 * time.Hour

// NewLibrary returns the library.
func NewLibrary() *Library {
	l := &Library{vocabulary: parse[vocabulary](vocabularyFile), campaigned: NewZipf(campaigns)}
	l.hashtags = strings.Fields(l.Hashtags)
	l.tagRanks = NewZipf(len(l.hashtags))
	for _, lang := range captions.Languages {
		l.places = append(l.places, lang.Places...)
	}
	for i, lang := range l.Languages {
		words := allWords(strings.Fields(lang.Common), strings.Fields(lang.Syllables), lang.Vocabulary)
		l.languages = append(l.languages, spoken{lang.Gap, words, NewZipf(len(words))})
		for range lang.Share {
			l.byShare = append(l.byShare, i)
		}
	}
	return l
}

// firstIdeograph is the first character of the Unicode block CJK Unified Ideographs. In a language without syllables, the rarer words are
// the characters of this block.
const firstIdeograph = 0x4e00

// allWords returns n different words: the words in common, followed by generated words.
func allWords(common, syllables []string, n int) []string {
	list := make([]string, 0, n)
	seen := map[string]bool{}
	add := func(word string) {
		if !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
	}
	for _, word := range common {
		add(word)
	}
	d := throw(kindWord, n)
	for i := 0; len(list) < n; i++ {
		word := string(rune(firstIdeograph + i))
		if len(syllables) > 0 {
			word = ""
			for range 2 + d.IntN(3) {
				word += pick(d, syllables)
			}
		}
		add(word)
	}
	return list
}

// Item returns the item with index i as an import line without the line break.
func (l *Library) Item(i int) []byte {
	d := throw(kindItem, i)
	age, rank := d.Float64(), d.Float64()
	where := pick(d, l.places)
	p := post{
		id: FirstID + i, campaign: 1 + l.campaigned.draw(d), hashtag: l.hashtags[l.tagRanks.draw(d)], hashtagID: 7,
		platform: pick(d, l.Platforms), contentType: pick(d, l.ContentTypes), status: pick(d, l.States), at: &where, text: l.text(d),
		created: newest.Add(-time.Duration(float64(span) * age * age * age)),
		author:  int(rank * rank * authors), // a few authors have many items, and most authors have one or two
		media:   true, featured: d.chance(3), confirmed: d.chance(50),
	}
	p.posted = p.created.Add(-time.Duration(d.IntN(7*24*3600)) * time.Second)
	p.user = l.Interests[p.author%len(l.Interests)] + "_" + strconv.Itoa(p.author)
	p.name = p.user
	var marketer, moods []string
	for range d.IntN(4) { // the minimum of two indices makes the later tags in the list rarer
		marketer = append(marketer, l.MarketerTags[min(d.IntN(len(l.MarketerTags)), d.IntN(len(l.MarketerTags)))])
	}
	if d.chance(36) {
		moods = append(moods, pick(d, l.Moods))
	}
	p.tags = object{"hashtags": keys(p.hashtag), "marketer_tags": keys(marketer...), "vibe": keys(moods...)}
	item := p.item()
	item["configuration"], item["submission"] = nil, nil
	item["shortened_permalink"] = "https://vtr.example/" + strconv.FormatInt(int64(p.id), 16)
	carried, fallback := []object{}, unit(0)
	if d.IntN(7) < 2 {
		fallback = unit(d.IntN(units))
		carried = append(carried, fallback)
	}
	item["activate_units"], item["default_activate_unit"] = carried, fallback
	if d.IntN(9) == 0 {
		item["submission"] = p.submission()
	}
	return encoded(item)
}

// unit returns the conversion unit with a number.
func unit(n int) object {
	return object{
		"activate_unit_library": 1, "archived": n%10 == 0, "associated_contents": []any{}, "catalog_image_url_src": nil, "catalog_item": nil,
		"click_through_url": fmt.Sprintf("https://shop.example.com/p/%d", n), "click_unit_library": 1, "created_on": "2024-01-01T08:00:00Z",
		"external_id": fmt.Sprintf("SKU-%d", n), "id": n + 1, "image_url": fmt.Sprintf("https://cdn.example.com/units/%d.png", n),
		"last_modified": "2024-01-01T08:00:00Z", "managed": false, "name": fmt.Sprintf("Shop the look %d", n),
	}
}

// Post returns the body of post i, which adds one item.
func (l *Library) Post(i int) []byte {
	d := throw(kindPost, i)
	user := pick(d, l.Interests) + "_" + strconv.Itoa(d.IntN(authors))
	return encoded(object{
		"content_type": "image", "approval_status": "app", "content_url": fmt.Sprintf("https://uploads.example.com/%d.jpg", i),
		"caption": l.text(d), "author": object{"username": user, "author_ref": user},
	})
}

// encoded returns an object as JSON. The encoding cannot fail.
func encoded(o object) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return text
}

// text generates a text of 3 to 23 words, on average 13, as in real posts.
func (l *Library) text(d dice) string {
	lang := l.languages[pick(d, l.byShare)]
	words := make([]string, 3+d.IntN(11)+d.IntN(11))
	for i := range words {
		words[i] = lang.words[lang.ranks.draw(d)]
	}
	text := strings.Join(words, lang.gap)
	switch d.IntN(6) {
	case 0:
		return text + "!"
	case 1:
		return text + " " + pick(d, l.Emoji)
	case 2:
		return text + " #" + pick(d, l.hashtags)
	}
	return text + "."
}

// word returns an English word for filters and searches. Its rank by frequency is about rank.
func (l *Library) word(rank int) string {
	words := l.languages[0].words
	return words[min(rank, len(words)-1)]
}

// DynamicFields lists the fields of the items that are not part of the catalogue of the query language, except
// content.platform_ref:<platform>.
func DynamicFields() []string {
	return []string{
		"tags.marketer_tags.key", "tags.hashtags.key", "tags.vibe.key", "submission.consent", "submission.email", "submission.username",
	}
}
