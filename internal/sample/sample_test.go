package sample

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
)

// line is the part of an import line that the tests use.
type line struct {
	ID             int64  `json:"id"`
	ApprovalStatus string `json:"approval_status"`
	CreatedOn      string `json:"created_on"`
	Claimed        bool   `json:"claimed"`
	Submission     map[string]string
	Content        struct {
		ContentType    string `json:"content_type"`
		SocialPlatform string `json:"social_platform"`
		Text           string `json:"text"`
		Author         struct {
			ID       int64  `json:"id"`
			Username string `json:"username"`
		} `json:"author"`
		Media *struct {
			OriginalURL string `json:"original_url"`
		} `json:"media"`
	} `json:"content"`
	Tags map[string][]struct {
		Key string `json:"key"`
	} `json:"tags"`
}

func write(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, n); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func lines(t *testing.T, n int) []line {
	t.Helper()
	var out []line
	for text := range bytes.Lines(write(t, n)) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("line %d: %v", len(out)+1, err)
		}
		out = append(out, l)
	}
	if len(out) != n {
		t.Fatalf("%d lines, want %d", len(out), n)
	}
	return out
}

// TestSame checks that the bytes of the sample content do not change, because manifests and documentation contain ids, texts and times from
// it. After an intended change, update the digest in this test.
func TestSame(t *testing.T) {
	const want = "6a7ebc1b0f48c3bf0ca4123931297dcf7fadb3d4d3e5d9795c234123c74824ff"
	sum := sha256.Sum256(write(t, Default))
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("the sample has changed: SHA-256 %s, want %s", got, want)
	}
}

func TestItems(t *testing.T) {
	key := regexp.MustCompile(`^[a-z]{1,64}$`)
	counts := map[string]int{}
	authors := map[int64]string{}
	last := ""
	for i, l := range lines(t, Default) {
		if l.ID != int64(FirstID+i) {
			t.Fatalf("line %d has id %d, want %d", i+1, l.ID, FirstID+i)
		}
		created, err := time.Parse(time.RFC3339, l.CreatedOn)
		if err != nil {
			t.Fatalf("item %d: created_on: %v", l.ID, err)
		}
		if created.Before(until.Add(-period)) || !created.Before(until.Add(24*time.Hour)) {
			t.Errorf("item %d: created on %s, outside the period", l.ID, l.CreatedOn)
		}
		if !utf8.ValidString(l.Content.Text) || strings.TrimSpace(l.Content.Text) == "" || strings.ContainsAny(l.Content.Text, "{}") {
			t.Errorf("item %d: text %q", l.ID, l.Content.Text)
		}
		if l.Content.Text == last {
			t.Errorf("item %d repeats the text of the one before: %q", l.ID, last)
		}
		last = l.Content.Text
		if (l.Content.Media == nil) != (l.Content.ContentType == "text") {
			t.Errorf("item %d: a %s, media %v", l.ID, l.Content.ContentType, l.Content.Media)
		}
		if l.Claimed != (l.Submission != nil) || l.Claimed != (l.Content.SocialPlatform == "direct") {
			t.Errorf("item %d: claimed %t, platform %s, submission %v", l.ID, l.Claimed, l.Content.SocialPlatform, l.Submission)
		}
		if known, ok := authors[l.Content.Author.ID]; ok && known != l.Content.Author.Username {
			t.Errorf("author %d is both %s and %s", l.Content.Author.ID, known, l.Content.Author.Username)
		}
		authors[l.Content.Author.ID] = l.Content.Author.Username
		for namespace, tags := range l.Tags {
			for _, tag := range tags {
				if !key.MatchString(tag.Key) {
					t.Errorf("item %d: tag %s:%s is not lowercase letters", l.ID, namespace, tag.Key)
				}
				counts[namespace+":"+tag.Key]++
			}
		}
		counts[l.ApprovalStatus]++
		counts[l.Content.ContentType]++
		counts[l.Content.SocialPlatform]++
	}
	atLeast := map[string]int{
		"app": 1300, "pen": 200, "rej": 100,
		"image": 900, "video": 300, "text": 300,
		"instagram": 300, "twitter": 200, "facebook": 100, "tumblr": 100, "vinetweet": 100, "direct": 200,
		"marketer_tags:summer": 150, "hashtags:sunset": 50,
	}
	for _, lang := range captions.Languages {
		atLeast["lang:"+lang.Code] = 70
	}
	for _, theme := range captions.Themes {
		atLeast["theme:"+theme.Key] = 180
	}
	for what, want := range atLeast {
		if counts[what] < want {
			t.Errorf("%d items of %s, want at least %d", counts[what], what, want)
		}
	}
}

func TestLanguagesAreComplete(t *testing.T) {
	shares := 0
	for _, lang := range captions.Languages {
		shares += lang.Share
		for _, theme := range captions.Themes {
			if len(lang.Captions[theme.Key]) < 3 {
				t.Errorf("%s has %d captions for %s, want at least 3", lang.Code, len(lang.Captions[theme.Key]), theme.Key)
			}
			if lang.Hashtags[theme.Key] == "" {
				t.Errorf("%s has no hashtag for %s", lang.Code, theme.Key)
			}
		}
	}
	if shares != 100 {
		t.Errorf("the shares of the languages add up to %d, want 100", shares)
	}
}

// TestImportable parses the sample content as the server does, and checks that the parser accepts every line without a loss of data.
func TestImportable(t *testing.T) {
	for text := range bytes.Lines(write(t, Default)) {
		parsed, err := item.ParseLine(text, item.ParseOptions{AuthorKey: []byte("key")})
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		parsed.Item.ShortCode = "" // assigned at import
		var want, got map[string]any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(item.Marshal(parsed.Item, nil), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("an item changes when it is imported and exported (-sample +export):\n%s", diff)
		}
	}
}

// TestPicture checks that Picture always returns the same drawing for a path of a picture or an avatar in the sample content, and no
// drawing for other paths.
func TestPicture(t *testing.T) {
	urls := map[string]bool{}
	for _, url := range regexp.MustCompile(MediaURL+`[^"]+\.jpg`).FindAllString(string(write(t, 300)), -1) {
		urls[strings.TrimPrefix(url, MediaURL)] = true
	}
	if len(urls) < 300 {
		t.Fatalf("the sample has only %d pictures", len(urls))
	}
	for path := range urls {
		drawing := Picture(path)
		if !bytes.Equal(drawing, Picture(path)) {
			t.Errorf("%s: another picture each time", path)
		}
		for d := xml.NewDecoder(bytes.NewReader(drawing)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v: %s", path, err, drawing)
			}
		}
		if len(drawing) == 0 || bytes.Contains(drawing, []byte("%!")) {
			t.Errorf("%s: %.100s", path, drawing)
		}
	}
	for _, path := range []string{"", "1/large.jpg", "x/large.jpg", "100001", "100001/", "100001/original.mp4", "../100001/large.jpg"} {
		if drawing := Picture(path); drawing != nil {
			t.Errorf("%s has a picture", path)
		}
	}
}
