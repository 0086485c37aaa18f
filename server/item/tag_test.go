package item

import (
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
