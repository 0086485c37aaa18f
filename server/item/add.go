package item

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ErrNoAuthorKey means that a body has a submission, but ParseOptions has no key from which to derive the author.
var ErrNoAuthorKey = errors.New("derive author: ParseOptions has no author key")

// ParseOptions holds the inputs of parsing in addition to the body.
type ParseOptions struct {
	// Now is the creation time of the item. Zero means the time of the system clock.
	Now time.Time
	// AuthorKey is the key with which author references are derived from submissions. It is required for bodies with a submission
	// (ErrNoAuthorKey). The key must never change: with another key, the same person would become a second author.
	AuthorKey []byte
	// Rand is the source of random bytes for short codes and generated references. nil means crypto/rand.
	Rand io.Reader
}

func (o ParseOptions) now() time.Time {
	if o.Now.IsZero() {
		return time.Now()
	}
	return o.Now
}

// ParseAdd parses the body of POST /v2/content/ (specification, Adding content; docs/http-api.md, "Adding and changing items") into a new
// item with ID 0. Errors in the body are *InvalidError. Malformed is true for invalid JSON, a wrong type or a missing content_type, and
// false for values and combinations that are not accepted. ParseAdd ignores unknown members.
//
// ParseAdd stores content_url as the OriginalURL of the item and, for an image or a video, also as the original_url of its media. The
// video_thumbnail of a video becomes its three media_urls. An explicit author takes precedence over the submission. If the body has no
// author reference, ParseAdd derives one as a keyed hash of the submission's email or username, or generates a random one if there is no
// submission. The author never contains the email of the submission or another mail address: ParseAdd replaces a username or reference that
// may contain one with such a hash. It keeps handles such as @jo and @jo@social.example.
func ParseAdd(body []byte, o ParseOptions) (*Item, error) {
	root, err := (&decoder{}).document(body)
	if err != nil {
		return nil, err
	}
	return root.added(o)
}

func (o *object) added(opts ParseOptions) (*Item, error) {
	now := stamp(opts.now())
	it := &Item{
		ApprovalStatus: o.oneOf("approval_status", Approved, Rejected, Pending),
		CreatedOn:      now,
		Submission:     o.submission(),
		Tags:           o.tags(),
		Content: Content{
			Text:           o.text("caption", MaxText),
			PlatformRef:    o.given("content_ref"),
			ContentState:   Active,
			SocialPlatform: Direct,
			CreatedOn:      now,
			ContentType:    o.oneOf("content_type", Image, Video, Text),
			OriginalURL:    o.absoluteURL("content_url"),
		},
	}
	if it.ApprovalStatus == "" {
		it.ApprovalStatus = Pending
	}
	thumbnail := o.absoluteURL("video_thumbnail")
	switch it.Content.ContentType {
	case "":
		o.malformed("content_type", "is required: image, video or text")
	case Text:
		if strings.TrimSpace(it.Content.Text) == "" {
			o.unacceptable("caption", "a text item needs a caption")
		}
	case Video, Image:
		if it.Content.OriginalURL == "" {
			o.unacceptable("content_url", "an image or a video needs the URL of its content")
		}
		it.Content.Media = &Media{OriginalURL: it.Content.OriginalURL}
		if it.Content.ContentType == Video {
			if thumbnail == "" {
				o.unacceptable("video_thumbnail", "a video needs the URL of a thumbnail")
			}
			it.Content.Media.SmallImage = thumbnail
			it.Content.Media.MediumImage = thumbnail
			it.Content.Media.LargeImage = thumbnail
		}
	}
	author := o.child("author")
	explicit := Author{Username: author.given("username"), PlatformID: author.given("author_ref")}
	if err := o.failure(); err != nil {
		return nil, err
	}
	if err := it.complete(o.child("submission"), explicit, opts); err != nil {
		return nil, err
	}
	return it, nil
}

// complete derives or generates the values that the body of a new item omits.
func (it *Item) complete(submission object, author Author, o ParseOptions) error {
	username, email := identity(submission.given("username")), identity(submission.given("email"))
	if author == (Author{}) && username != "" && email != "" {
		author.Username = strings.TrimSpace(submission.given("username"))
	}
	// The email of a submission can be any text. Without an @, one such as "jo" would hide every name that contains it.
	private := func(s string) bool { return holdsAddress(s) || strings.Contains(email, "@") && holdsText(s, email) }
	hidesName := private(author.Username)
	hidesID := private(author.PlatformID) || email != "" && identity(author.PlatformID) == email
	if hidesID || hidesName || author.PlatformID == "" && (email != "" || username != "") {
		if len(o.AuthorKey) == 0 {
			return ErrNoAuthorKey
		}
		hash := func(s string) string { return authorHash(o.AuthorKey, cmp.Or(email, username, identity(s))) }
		switch {
		case hidesID:
			author.PlatformID = hash(author.PlatformID)
		case author.PlatformID == "":
			author.PlatformID = hash(author.Username)
		}
		if hidesName {
			author.Username = hash(author.Username)
		}
	}
	var err error
	if author.PlatformID == "" {
		if author.PlatformID, err = draw(o.Rand, 20); err != nil {
			return err
		}
	}
	it.Content.Author = &author
	if it.Content.PlatformRef == "" {
		if it.Content.PlatformRef, err = draw(o.Rand, 20); err != nil {
			return err
		}
	}
	it.ShortCode, err = NewShortCode(o.Rand)
	return err
}

// authorHash derives an author reference from an identity: 32 hexadecimal characters of HMAC-SHA-256.
func authorHash(key []byte, identity string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(identity))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// identity returns the form of an email or a username that is used for comparison: trimmed and in lower case.
func identity(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// base62 is the alphabet of random codes.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewShortCode generates the code of a short link: 10 letters and digits. It reads random bytes from r, or from crypto/rand if r is nil. If
// another item has the code already (a chance of 1 in 8e17 for each existing item), the library generates another one.
func NewShortCode(r io.Reader) (string, error) { return draw(r, 10) }

// draw returns n random characters, each with the same probability.
func draw(r io.Reader, n int) (string, error) {
	if r == nil {
		r = rand.Reader
	}
	drawn := make([]byte, 0, n)
	var buf [32]byte
	for {
		if _, err := io.ReadFull(r, buf[:]); err != nil {
			return "", fmt.Errorf("generate a random code: %w", err)
		}
		for _, b := range buf {
			// 248 is the largest multiple of 62 that fits in a byte. Larger bytes would make the first characters more frequent.
			if b < 248 {
				drawn = append(drawn, base62[b%62])
			}
			if len(drawn) == n {
				return string(drawn), nil
			}
		}
	}
}
