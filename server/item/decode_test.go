package item

import (
	"strings"
	"testing"
)

func TestNesting(t *testing.T) {
	// The outermost object of the line is one level.
	nested := func(levels int) string {
		return `{"configuration":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `,` + minimal + `}`
	}
	mustLine(t, nested(MaxDepth))
	_, err := ParseLine([]byte(nested(MaxDepth+1)), testOptions())
	refused(t, err, true, "")
	// Brackets in a string do not count as nesting.
	mustLine(t, `{"configuration":"`+strings.Repeat(`[{\"`, MaxDepth)+`",`+minimal+`}`)
}

func TestHarmless(t *testing.T) {
	for address, want := range map[string]bool{
		"": true, "https://a.example/x y": true, "HTTP://a.example": true, "about:blank": true, "//a.example/x": true, "/a:b": true, "a?b:c": true, "a#b:c": true,
		"javascript:x": false, "\u0020JavaScript:x": false, "java\tscript:x": false, "data:x": false, "about:srcdoc": false, "vbscript:": false, ":": false,
		"\x01javascript:x": false, "a\x7f": false,
	} {
		if got := harmless(address); got != want {
			t.Errorf("harmless(%q) = %v, want %v", address, got, want)
		}
	}
}
