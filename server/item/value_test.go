package item

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// standard decodes a text with the standard library.
func standard(t *testing.T, body []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("the standard library does not take %q: %v", body, err)
	}
	return v
}

// checkValue compares the decoded value with the result of the standard library. If this package refuses the text, the standard library
// must refuse it too, unless the reason is one of the few that only this package has.
func checkValue(t *testing.T, body []byte) {
	t.Helper()
	v, err := decodeValue(body)
	if err != nil {
		checkRefused(t, err)
		if err.Error() == complaintOfNone {
			t.Fatalf("%q is refused without a reason", body)
		}
		return
	}
	want := standard(t, bytes.TrimPrefix(body, []byte("\uFEFF")))
	if diff := cmp.Diff(want, standard(t, appendValue(nil, v))); diff != "" {
		t.Fatalf("%q (-standard library +here):\n%s", body, diff)
	}
}

// complaintOfNone is the complaint about a valid text. No refusal may have this message.
var complaintOfNone = complaint([]byte("{}")).Error()

var valueSeeds = []string{
	`{"a":1,"b":[true,false,null,"x"],"a":{"c":-0.5e+10}}`, ` [ 1 , 2 ] `, "\uFEFF\t{}\r\n", `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, `{"":""}`, `-0`, `1E5`, `0.10`,
	``, ` `, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `[1,]`, `[,1]`, `[1 2]`, `{"a" 1}`, `{1:2}`, `{} {}`, `[]]`, `01`, `-`, `+1`, `1.`, `.5`, `1e`, `1e+`, `0x1`,
	`tru`, `truee`, `nul`, `"`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\ud800"`, `"\ud800\u0041"`, `"\udc00"`, "\"\n\"", "\"\x00\"", "\"\xff\"", "{\"\xff\":1}", "\u00a0{}",
}

func TestDecodeValueMatchesTheStandardLibrary(t *testing.T) {
	for _, s := range valueSeeds {
		checkValue(t, []byte(s))
	}
	checkValue(t, []byte("["+strings.Repeat(`{"a":["b",`, 10)+"1"+strings.Repeat("]}", 10)+"]"))
}

// TestRepeatedMembers checks that two members of an object with the same name are refused, and that the message has the name and the
// position of the second one.
func TestRepeatedMembers(t *testing.T) {
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, `"m%d":{"m%d":0},`, i, i)
	}
	for body, want := range map[string]string{
		`{"a":1,"a":1}`:                     `two members with the name "a", at byte 7`,
		`{"a":1, "b":2, "\u0061":null}`:     `two members with the name "a", at byte 15`,
		`{"x":[{"b":{"c":1,"d":2,"c":3}}]}`: `two members with the name "c", at byte 24`,
		`{"":1,"":2}`:                       `two members with the name "", at byte 6`,
		"{" + many.String() + `"m39":1}`:    fmt.Sprintf(`two members with the name "m39", at byte %d`, 1+many.Len()),
		"{" + many.String() + `"m0":1}`:     fmt.Sprintf(`two members with the name "m0", at byte %d`, 1+many.Len()),
		`{"a":1,"a":1`:                      `two members with the name "a", at byte 7`,
		"{" + many.String() + `"m40":1}`:    "",
		`{"a":{"a":{"a":1}},"A":1}`:         "",
		`[{"a":1},{"a":1}]`:                 "",
	} {
		err := CheckJSON([]byte(body))
		invalid, _ := errors.AsType[*InvalidError](err)
		if (err == nil) != (want == "") || err != nil && (invalid == nil || !invalid.Malformed || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

func FuzzDecodeValue(f *testing.F) {
	for _, s := range valueSeeds {
		f.Add([]byte(s))
	}
	f.Add(Marshal(everything(), nil))
	f.Fuzz(checkValue)
}

// BenchmarkParseLine parses a line that has every member.
func BenchmarkParseLine(b *testing.B) {
	line := Marshal(everything(), nil)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseLine(line, testOptions()); err != nil {
			b.Fatal(err)
		}
	}
}
