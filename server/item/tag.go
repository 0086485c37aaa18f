package item

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// HashtagNamespace is the namespace of the tags that come from an item's hashtags (specification, Tag). Unlike other keys, its keys may
// contain digits, underscores and letters of any script.
const HashtagNamespace = "hashtags"

// MarketerNamespace is the namespace whose tags the dashboard shows (specification, Tag), and the default namespace of favorite_tag.
const MarketerNamespace = "marketer_tags"

// NewTag returns the tag that a caller names. Hashtags are stored in lower case and without #.
func NewTag(namespace, key string) Tag {
	if namespace == HashtagNamespace {
		key = strings.ToLower(strings.TrimPrefix(key, "#"))
	}
	return Tag{Namespace: namespace, Key: key}
}

// ValidNamespace returns nil for a tag namespace that callers can use over HTTP. It must have 1 to MaxNamespace characters, must not be
// blank, and must not contain slashes, dots or control characters. "ugc" is reserved because of its path (docs/http-api.md, "Tags"). For
// any other namespace, the error is an *InvalidError for the member namespace that is not Malformed.
func ValidNamespace(namespace string) error {
	complain := ""
	switch n := utf8.RuneCountInString(namespace); {
	case strings.TrimSpace(namespace) == "":
		complain = "must not be empty"
	case n > MaxNamespace:
		complain = fmt.Sprintf("must have at most %d characters", MaxNamespace)
	case !utf8.ValidString(namespace):
		complain = "must be valid UTF-8"
	case strings.ContainsAny(namespace, "/.") || strings.ContainsFunc(namespace, unicode.IsControl):
		complain = "must not contain slashes, dots or control characters"
	case namespace == "ugc":
		complain = `must not be "ugc", which is reserved: choose another one`
	default:
		return nil
	}
	return &InvalidError{Member: "namespace", Reason: "a tag namespace " + complain}
}

// ValidKey returns nil for a valid key of the namespace. A key has 1 to MaxKey lowercase letters a to z (specification, Tag). In the
// namespace hashtags, it has 1 to MaxHashtagKey lowercase letters of any script, digits and underscores. For any other key, the error is an
// *InvalidError for the member key that is not Malformed.
func ValidKey(namespace, key string) error {
	invalid := func(format string, args ...any) error {
		return &InvalidError{Member: "key", Reason: fmt.Sprintf(format, args...)}
	}
	if namespace == HashtagNamespace {
		if !utf8.ValidString(key) || key != strings.ToLower(key) || strings.ContainsFunc(key, notInHashtag) {
			return invalid("a hashtag key can contain only lowercase letters, digits and underscores")
		}
		if n := utf8.RuneCountInString(key); n < 1 || n > MaxHashtagKey {
			return invalid("a hashtag key must have 1 to %d characters", MaxHashtagKey)
		}
		return nil
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return invalid("a tag key can contain only lowercase letters (a to z)")
	}
	if len(key) < 1 || len(key) > MaxKey {
		return invalid("a tag key must have 1 to %d characters", MaxKey)
	}
	return nil
}

// notInHashtag reports whether r cannot occur in a hashtag. Marks can occur, because they are parts of letters in many scripts.
func notInHashtag(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '_'
}

// CompareTags orders tags by namespace, then by key.
func CompareTags(a, b Tag) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Key, b.Key))
}

// CheckTagNumbers returns nil if the own tags of an item may change from before to after, which both must be sorted and without duplicates.
// The numbers of tags, of namespaces, and of tags in one namespace are limited (MaxTags, MaxNamespaces, MaxTagsPerNamespace). An item that
// already exceeds a limit, as older stores can have, may keep its number of tags or reduce it. The error is an *InvalidError that is not
// Malformed, and names a tag that is one too many.
func CheckTagNumbers(before, after []Tag) error {
	if len(after) <= min(MaxTags, MaxTagsPerNamespace, MaxNamespaces) {
		return nil
	}
	had, has := countTags(before), countTags(after)
	added := slices.DeleteFunc(slices.Clone(after), func(t Tag) bool {
		_, known := slices.BinarySearchFunc(before, t, CompareTags)
		return known
	})
	for i := len(added) - 1; i >= 0; i-- {
		t := added[i]
		refused := func(limit int, what string) error {
			return &InvalidError{Member: "tags." + t.Namespace, Reason: fmt.Sprintf(
				"the tag %s:%s is one too many: an item can have at most %d %s", t.Namespace, t.Key, limit, what)}
		}
		switch n := has.in[t.Namespace]; {
		case n > max(MaxTagsPerNamespace, had.in[t.Namespace]):
			return refused(MaxTagsPerNamespace, "tags of its own in one namespace")
		case had.in[t.Namespace] == 0 && len(has.in) > max(MaxNamespaces, len(had.in)):
			return refused(MaxNamespaces, "namespaces of its own tags")
		case has.tags > max(MaxTags, had.tags):
			return refused(MaxTags, "tags of its own")
		}
	}
	return nil
}

// tagNumbers are the number of tags of an item, and the number of its tags in each namespace.
type tagNumbers struct {
	tags int
	in   map[string]int
}

func countTags(tags []Tag) tagNumbers {
	n := tagNumbers{len(tags), map[string]int{}}
	for _, t := range tags {
		n.in[t.Namespace]++
	}
	return n
}

// tags reads the member "tags": {namespace: [key, …]} or {namespace: [{"key": key}, …]}. The result is sorted, without duplicates.
func (o *object) tags() []Tag {
	byNamespace := o.child("tags")
	namespaces := byNamespace.sorted()
	var tags []Tag
	for _, n := range namespaces {
		namespace := n.name
		if err := ValidNamespace(namespace); err != nil {
			// Report the path without the name of the namespace, which can have any length.
			o.check(byNamespace.path, err)
			if !o.stored {
				continue
			}
		}
		for i, v := range byNamespace.listed(n) {
			path := func() string { return fmt.Sprintf("%s[%d]", byNamespace.at(namespace), i) }
			if key, ok := o.tagKey(path, v.value); ok {
				t := Tag{Namespace: namespace, Key: key}
				if !o.stored {
					t = NewTag(namespace, key)
				}
				if err := ValidKey(namespace, t.Key); err != nil {
					o.check(path(), err)
				}
				tags = append(tags, t)
			}
		}
	}
	slices.SortFunc(tags, CompareTags)
	return slices.Compact(tags)
}

// tagKey reads one element of a list of tags: a key, or an object that contains the key.
func (d *decoder) tagKey(path func() string, v value) (string, bool) {
	within := ""
	if v.kind == structure {
		v, within = v.get("key"), ".key"
	}
	if v.kind != text {
		d.malformed(path()+within, "expected the key of a tag, got %s", v.kind)
	}
	return v.text, v.kind == text
}
