// Package sample generates content: items as import lines. An item with a given index has the same bytes on every machine. All content is
// invented, and URLs use example domains.
//
// Write generates sample content for a local server, with captions in nine languages about eight themes (see captions.yaml). Library
// generates any amount of content for measurements, with texts whose words follow Zipf's law, and filters and queries that match this
// content.
package sample

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	// FirstID is the id of the first item. The ids of the following items are consecutive, so that manifests can contain ids of items.
	FirstID = 100001
	// Default is the number of items in the sample content of a local server.
	Default = 2000
)

// until is the end of the two years in which the items of the sample content were posted. The items are sorted by this time, oldest first.
var until = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

const period = 2 * 365 * 24 * time.Hour

//go:embed captions.yaml
var captionsFile []byte

// captions is the content of captions.yaml.
var captions = parse[struct {
	Themes []struct {
		Key             string
		Hashtags, Emoji []string
	}
	Languages []language
}](captionsFile)

// language is a language in captions.yaml, with the parts of sentences that can be combined into a few hundred different captions.
type language struct {
	Code     string
	Share    int
	Gap      string
	Places   []place
	Captions map[string][]string // captions by theme
	Whens    []string
	Closers  []string
	Hashtags map[string]string // hashtags by theme
}

// parse decodes an embedded file. It panics on errors, because they are bugs in the program.
func parse[T any](text []byte) *T {
	v := new(T)
	if err := yaml.UnmarshalStrict(text, v); err != nil {
		panic(err)
	}
	return v
}

// Write writes n items of the sample content as NDJSON, with one import line for each item.
func Write(w io.Writer, n int) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i := range n {
		if err := encoder.Encode(makeItem(i, n)); err != nil {
			return fmt.Errorf("encode item %d: %w", FirstID+i, err)
		}
	}
	return out.Flush()
}

// makeItem returns item i of n. The items of a platform, a state or a language are spread over the whole period. Each value by which a
// filter can select items occurs in many items.
func makeItem(i, n int) object {
	d := throw(kindSample, i)
	index, lang := 0, &captions.Languages[0]
	for left := d.IntN(100) - lang.Share; left >= 0; left -= lang.Share {
		index++
		lang = &captions.Languages[index]
	}
	about := d.IntN(len(captions.Themes))
	theme := captions.Themes[about]
	number := 1 + d.IntN(40) // the number of the author; an author writes in one language about one theme, on all platforms
	p := post{
		id: FirstID + i, campaign: 1 + d.IntN(12), hashtag: pick(d, theme.Hashtags), hashtagID: about*10 + 1,
		platform:    pick(d, []string{"instagram", "instagram", "instagram", "twitter", "twitter", "facebook", "tumblr", "vinetweet", "direct", "direct"}),
		contentType: pick(d, []string{"image", "image", "image", "image", "image", "video", "video", "text", "text"}),
		status:      pick(d, []string{"app", "app", "app", "app", "app", "app", "pen", "rej"}),
		posted:      until.Add(-period + period/time.Duration(n)*time.Duration(i) + time.Duration(d.IntN(3600))*time.Second),
		featured:    d.chance(6), confirmed: d.chance(50),
		author: (1+about)*10_000 + index*100 + number, user: fmt.Sprintf("%s_%s_%d", theme.Key, lang.Code, number),
		name: fmt.Sprintf("%s%s %d", strings.ToUpper(theme.Key[:1]), theme.Key[1:], number),
	}
	p.created, p.media = p.posted.Add(time.Duration(1+d.IntN(90))*time.Minute), p.contentType != "text"
	where := pick(d, lang.Places)
	if !d.chance(25) { // many real items have no place
		p.at = &where
	}
	hashtags := []string{p.hashtag}
	if other := pick(d, theme.Hashtags); other != p.hashtag {
		hashtags = append(hashtags, other)
	}
	p.text = lang.caption(d, about, where, hashtags)
	p.tags = object{"hashtags": keys(hashtags...), "lang": keys(lang.Code), "theme": keys(theme.Key)}
	if d.chance(12) {
		p.tags["marketer_tags"] = keys("summer")
	}
	item := p.item()
	// Items of the platform direct were posted through the HTTP API, so they contain the sender's details.
	if item["claimed"] = p.platform == "direct"; p.platform == "direct" {
		item["submission"] = p.submission()
	}
	return item
}

// caption returns the text of an item about a theme.
func (l *language) caption(d dice, about int, where place, hashtags []string) string {
	theme := captions.Themes[about]
	text := strings.NewReplacer("{place}", where.Native, "{when}", pick(d, l.Whens)).Replace(pick(d, l.Captions[theme.Key]))
	if d.chance(55) {
		text += l.Gap + pick(d, l.Closers)
	}
	if d.chance(45) {
		text += " " + pick(d, theme.Emoji)
		if d.chance(30) {
			text += pick(d, theme.Emoji)
		}
	}
	if d.chance(70) {
		text += " #" + strings.Join(hashtags, " #")
	}
	if d.chance(50) {
		text += " #" + l.Hashtags[theme.Key]
	}
	return text
}
