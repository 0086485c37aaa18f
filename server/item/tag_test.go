package item

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestValidNamespace(t *testing.T) {
	for namespace, valid := range map[string]bool{
		"marketer_tags": true, "hashtags": true, "my vibe": true, "été": true, "UGC": true, "a:b": true, "%": true,
		strings.Repeat("é", MaxNamespace): true, strings.Repeat("é", MaxNamespace+1): false,
		"": false, " ": false, "ugc": false, "a/b": false, "a.b": false, "a\nb": false, "a\x00": false, "a\xff": false,
	} {
		err := ValidNamespace(namespace)
		if valid != (err == nil) {
			t.Errorf("ValidNamespace(%q) = %v, want valid %v", namespace, err, valid)
		}
		if err != nil {
			refused(t, err, false, "namespace")
		}
	}
}

func TestValidKey(t *testing.T) {
	for _, tc := range []struct {
		namespace, key string
		valid          bool
	}{
		{"marketer_tags", "summer", true},
		{"marketer_tags", strings.Repeat("z", MaxKey), true},
		{"marketer_tags", strings.Repeat("z", MaxKey+1), false},
		{"marketer_tags", "", false},
		{"marketer_tags", "Summer", false},
		{"marketer_tags", "summer1", false},
		{"marketer_tags", "a_b", false},
		{"marketer_tags", "été", false},
		{"hashtags", "summer_2026", true},
		{"hashtags", "été", true},
		{"hashtags", "夏", true},
		{"hashtags", "हिन्दी", true},
		{"hashtags", strings.Repeat("é", MaxHashtagKey), true},
		{"hashtags", strings.Repeat("é", MaxHashtagKey+1), false},
		{"hashtags", "", false},
		{"hashtags", "#a", false},
		{"hashtags", "Summer", false},
		{"hashtags", "a b", false},
		{"hashtags", "a-b", false},
		{"hashtags", "a/b", false},
		{"hashtags", "a\xff", false},
	} {
		err := ValidKey(tc.namespace, tc.key)
		if tc.valid != (err == nil) {
			t.Errorf("ValidKey(%q, %q) = %v, want valid %v", tc.namespace, tc.key, err, tc.valid)
		}
		if err != nil {
			refused(t, err, false, "key")
		}
	}
}

// TestCheckTagNumbers checks the limits for the tags of an item, also for items that exceed them already.
func TestCheckTagNumbers(t *testing.T) {
	// spread returns n tags in each of the namespaces from first to last.
	spread := func(first, last, n int) []Tag {
		var tags []Tag
		for namespace := first; namespace <= last; namespace++ {
			for key := range n {
				tags = append(tags, Tag{fmt.Sprintf("n%03d", namespace), string([]byte{byte('a' + key/26), byte('a' + key%26)})})
			}
		}
		return tags
	}
	for name, c := range map[string]struct {
		before, after []Tag
		// tag is the tag that the error names. It is empty if the tags are accepted.
		tag, limit string
	}{
		"no tags":                          {after: nil},
		"as many tags as possible":         {after: spread(1, 32, MaxTags/32)},
		"too many tags":                    {after: spread(1, 33, MaxTags/32), tag: "n033:ah", limit: "256 tags of its own"},
		"a tag more":                       {spread(1, 32, 8), append(spread(1, 32, 8), Tag{"n032", "zz"}), "n032:zz", "256 tags of its own"},
		"as many namespaces as possible":   {after: spread(1, MaxNamespaces, 1)},
		"too many namespaces":              {after: spread(1, MaxNamespaces+1, 1), tag: "n051:aa", limit: "50 namespaces"},
		"a full namespace":                 {after: spread(1, 1, MaxTagsPerNamespace)},
		"too many tags in a namespace":     {after: spread(1, 2, MaxTagsPerNamespace+1), tag: "n002:dw", limit: "100 tags of its own in one namespace"},
		"an older item that stays":         {spread(1, 60, 110), spread(1, 60, 110), "", ""},
		"an older item with fewer tags":    {spread(1, 60, 110), spread(1, 60, 109), "", ""},
		"an older item with another tag":   {spread(1, 60, 110), append(spread(1, 60, 110)[:60*110-1], Tag{"n060", "zz"}), "", ""},
		"an older item with a tag more":    {spread(1, 60, 5), append(spread(1, 60, 5), Tag{"n060", "zz"}), "n060:zz", "256 tags of its own"},
		"an older item, another namespace": {spread(1, 60, 1), append(spread(1, 60, 1), Tag{"n061", "aa"}), "n061:aa", "50 namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			if !slices.IsSortedFunc(c.after, CompareTags) {
				t.Fatal("the tags are not sorted")
			}
			err := CheckTagNumbers(c.before, c.after)
			if c.tag == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			namespace, _, _ := strings.Cut(c.tag, ":")
			refused(t, err, false, "tags."+namespace)
			if invalid := (*InvalidError)(nil); !errors.As(err, &invalid) || !strings.Contains(invalid.Reason, "the tag "+c.tag+" ") || !strings.Contains(invalid.Reason, c.limit) {
				t.Errorf("%v; want the tag %s and the limit %q", err, c.tag, c.limit)
			}
		})
	}
}
