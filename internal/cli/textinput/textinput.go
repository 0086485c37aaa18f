// Package textinput reads texts that a person passes to a command, in the forms in which editors, shells and other programs write them.
// It may import the standard library and golang.org/x/text.
package textinput

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// Error means that the input called Name is damaged, or has a form that Open does not read.
type Error struct {
	Name string
	// Reason says what is wrong with the input, and what to do.
	Reason string
}

func (e *Error) Error() string { return e.Name + " " + e.Reason }

// Open returns the content of r as UTF-8 without a byte order mark. It decompresses gzip, decodes UTF-16 and UTF-32, and removes the record
// separators of RFC 7464. It does not check UTF-8, and replaces only invalid UTF-16 and UTF-32 with U+FFFD. name is the name of the input in
// errors. changed is true if the content can have another length than r. Open returns an *Error for other compressed files, and the reader
// returns one if the gzip data is damaged.
func Open(name string, r io.Reader) (content io.Reader, changed bool, err error) {
	in, head, err := peek(r)
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		z := &unzipped{name: name}
		if z.Reader, err = gzip.NewReader(in); err != nil {
			return nil, false, z.explain(err)
		}
		changed = true
		in, head, err = peek(z)
	}
	for magic, reason := range packed {
		if bytes.HasPrefix(head, []byte(magic)) {
			return nil, false, &Error{name, reason}
		}
	}
	if bzip2.Match(head) {
		return nil, false, &Error{name, "is compressed with bzip2: decompress it with bunzip2, or compress it with gzip"}
	}
	if e := encodingOf(head); e != nil {
		changed = true
		in, head, err = peek(transform.NewReader(in, e.NewDecoder()))
	}
	if mark := []byte("\uFEFF"); bytes.HasPrefix(head, mark) {
		changed = true
		_, _ = in.Discard(len(mark)) // cannot fail, because these bytes are buffered
		in, head, err = peek(in)
	}
	if len(head) > 0 && head[0] == separator {
		return records{in}, true, err
	}
	return in, changed, err
}

// peek returns the next bytes of r without consuming them, up to ten.
func peek(r io.Reader) (*bufio.Reader, []byte, error) {
	in := bufio.NewReader(r)
	head, err := in.Peek(10)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return in, head, err
}

// ReadFile returns the content of a file, in the form that Open returns.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, _, err := Open(path, f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(content)
}

// packed maps the first bytes of compressed files to the reasons for refusing them.
var packed = map[string]string{
	"\x28\xb5\x2f\xfd": "is compressed with zstd: decompress it with zstd -d, or compress it with gzip",
	"\xfd7zX":          "is compressed with xz: decompress it with unxz, or compress it with gzip",
	"PK\x03\x04":       "is a ZIP archive or a spreadsheet: extract the text file from it, or save it as text",
}

// bzip2 matches the beginning of a file that bzip2 has compressed. It contains an &, because a token can begin with BZh.
var bzip2 = regexp.MustCompile(`^BZh[1-9]1AY&SY`)

// encodingOf returns the encoding of a text that begins with head, or nil if it is UTF-8. Without a byte order mark, a NUL in one of the
// first two bytes shows that the first character is ASCII in UTF-16.
func encodingOf(head []byte) encoding.Encoding {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		return utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)
	case bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return utf32.UTF32(utf32.BigEndian, utf32.UseBOM)
	case bytes.HasPrefix(head, []byte("\xff\xfe")), len(head) > 1 && head[0] != 0 && head[1] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte("\xfe\xff")), len(head) > 1 && head[0] == 0 && head[1] != 0:
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	return nil
}

// unzipped is decompressed gzip data, whose errors say what to do.
type unzipped struct {
	io.Reader
	name string
}

func (z *unzipped) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	return n, z.explain(err)
}

func (z *unzipped) explain(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{z.name, "is truncated: its gzip data has no end; get a complete copy"}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, new(flate.CorruptInputError)):
		return &Error{z.name, "is damaged: its gzip data cannot be decompressed; get an intact copy"}
	}
	return err
}

// separator begins each record of a JSON text sequence (RFC 7464). JSON and YAML contain it only in escaped form.
const separator = 0x1e

// records is a text without its record separators.
type records struct{ r io.Reader }

func (r records) Read(p []byte) (int, error) {
	for {
		n, err := r.r.Read(p)
		kept := len(slices.DeleteFunc(p[:n], func(b byte) bool { return b == separator }))
		if kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}
