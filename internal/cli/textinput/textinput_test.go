package textinput

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// text has more bytes than the buffers of Open, and characters of one to four bytes, or one and two units in UTF-16.
var text = strings.Repeat(`{"caption":"Strand, plage, 海, 🏖"}`+"\n", 3000)

func zip(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func read(s string) (string, bool, error) {
	content, changed, err := Open("x", strings.NewReader(s))
	if err != nil {
		return "", false, err
	}
	b, err := io.ReadAll(content)
	return string(b), changed, err
}

// TestOpen reads a text in every form, also compressed.
func TestOpen(t *testing.T) {
	encode := func(e interface{ String(string) (string, error) }) string {
		s, err := e.String(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, c := range map[string]struct {
		in      string
		changed bool
	}{
		"UTF-8":             {text, false},
		"UTF-8 with a mark": {"\uFEFF" + text, true},
		"UTF-16LE":          {encode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder()), true},
		"UTF-16BE":          {encode(unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder()), true},
		"bare UTF-16LE":     {encode(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder()), true},
		"bare UTF-16BE":     {encode(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder()), true},
		"UTF-32LE":          {encode(utf32.UTF32(utf32.LittleEndian, utf32.UseBOM).NewEncoder()), true},
		"UTF-32BE":          {encode(utf32.UTF32(utf32.BigEndian, utf32.UseBOM).NewEncoder()), true},
		"RFC 7464":          {"\x1e" + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n\x1e") + "\n", true},
		"RFC 7464, a mark":  {"\uFEFF\x1e" + text, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, changed, err := read(c.in); got != text || changed != c.changed || err != nil {
				t.Errorf("%.60q, %t, %v", got, changed, err)
			}
			if got, changed, err := read(zip(t, c.in[:len(c.in)/2]) + zip(t, c.in[len(c.in)/2:])); got != text || !changed || err != nil {
				t.Errorf("compressed: %.60q, %t, %v", got, changed, err)
			}
		})
	}
	for _, short := range []string{"", "a", "{}", "\n", "caf\xe9", "BZh9", "BZh91AY-SYx1uBQ0fVnCkT2w", "BZhA1AY&SY"} {
		if got, changed, err := read(short); got != short || changed || err != nil {
			t.Errorf("%q: %q, %t, %v", short, got, changed, err)
		}
	}
	if got, _, err := read("\x1e\x1e"); got != "" || err != nil {
		t.Errorf("only separators: %q, %v", got, err)
	}
	for _, in := range []string{"{}", "\uFEFF{}", "\x1e{}"} {
		if _, _, err := Open("x", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(in)))); !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("%q with an error after one byte: %v", in, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	packed := zip(t, text)
	damaged := []byte(packed)
	damaged[len(damaged)/2] ^= 0xff
	for name, c := range map[string]struct{ in, want string }{
		"zstd":            {"\x28\xb5\x2f\xfd\x24\x01\x09\x00\x00", "x is compressed with zstd: decompress it"},
		"bzip2":           {"BZh91AY&SY", "x is compressed with bzip2: decompress it"},
		"xz":              {"\xfd7zXZ\x00\x00", "x is compressed with xz: decompress it"},
		"a spreadsheet":   {"PK\x03\x04\x14\x00", "x is a ZIP archive or a spreadsheet: extract the text file"},
		"gzip, the magic": {packed[:2], "x is truncated: its gzip data has no end; get a complete copy"},
		"gzip, a header":  {packed[:10], "x is truncated: "},
		"gzip, one half":  {packed[:len(packed)/2], "x is truncated: "},
		"gzip, no sum":    {packed[:len(packed)-1], "x is truncated: "},
		"gzip, damaged":   {string(damaged), "x is damaged: its gzip data cannot be decompressed; get an intact copy"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := read(c.in)
			if wrong := (*Error)(nil); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("\xff\xfet\x00o\x00\r\x00\n\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(path); string(got) != "to\r\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := ReadFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
