package item

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestEscapesAnywhere puts special and ordinary characters at every position of the eight bytes that the scanner reads at a time.
func TestEscapesAnywhere(t *testing.T) {
	t.Parallel()
	for r := range rune(0x3000) {
		if r > 0x120 && r != '\u2028' && r != '\u2029' && r%0x111 != 0 {
			continue
		}
		for before := range 9 {
			for _, after := range []int{0, 1, 7, 8, 9, 16} {
				want := strings.Repeat("x", before) + string(r) + strings.Repeat("y", after)
				text := AppendString(nil, want)
				if strings.ContainsRune("<>\u2028\u2029", r) && strings.ContainsRune(string(text), r) {
					t.Errorf("%q stands in %s as it is", r, text)
				}
				var got string
				if err := json.Unmarshal(text, &got); err != nil || got != want {
					t.Fatalf("%q is written as %s, which reads %q, %v", want, text, got, err)
				}
			}
		}
	}
}
