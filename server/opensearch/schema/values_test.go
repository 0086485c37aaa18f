package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// TestSortValues checks that sort values decoded from CBOR equal those decoded from JSON.
func TestSortValues(t *testing.T) {
	for data, want := range map[string]string{
		"\x81\x18\x2a": "42", "\x81\x3b\x7f\xff\xff\xff\xff\xff\xff\xff": "-9223372036854775808", "\x81\x61\x22": `"\""`, "\x81\xf6": "null",
		"\x81\xfa\x3f\x9d\xf3\xb6": "1.234", "\x81\xfb\x3f\xf3\xbe\x76\xc8\xb4\x39\x58": "1.234",
		"\x81\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00": `"Infinity"`, "\x81\xfb\xff\xf0\x00\x00\x00\x00\x00\x00": `"-Infinity"`,
	} {
		var values []SortValue
		if err := cbor.Unmarshal([]byte(data), &values); err != nil || len(values) != 1 || string(values[0].RawMessage) != want {
			t.Errorf("%x: %s, %v, want %s", data, values, err, want)
		}
	}
	var n Number
	if err := cbor.Unmarshal([]byte("\x614"), &n); err != nil || n != 4 {
		t.Errorf("%d, %v, want 4", n, err)
	}
	if err := json.Unmarshal([]byte(`"42"`), &n); err != nil || n != 42 {
		t.Errorf("%d, %v, want 42", n, err)
	}
	var found struct {
		ID   Number      `json:"_id"`
		Sort []SortValue `json:"sort"`
	}
	if err := json.Unmarshal([]byte(`{"_id":"7","sort":[1.5]}`), &found); err != nil || found.ID != 7 ||
		!strings.HasPrefix(string(found.Sort[0].RawMessage), "1.5") {
		t.Errorf("%+v, %v", found, err)
	}
}
