package client

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
)

// line is one line of an import.
type line struct {
	number int64 // from 1
	// raw is the line with its line end. It is nil if the line is too long.
	raw     []byte
	length  int64
	digest  [sha256.Size]byte // of the whole line, if it is too long
	blank   bool
	tooLong bool
	// done means that nothing is left to do. unsure means that the line was sent with an unknown outcome.
	done, unsure bool
}

// identified reports whether a retry of the line cannot add a second item: it is a whole item with an id, or it is not a
// JSON object, which no server stores.
func (l *line) identified() bool {
	var members map[string]json.RawMessage // a struct would also take "Id" and "ID", which the server does not
	if json.Unmarshal(l.raw, &members) != nil {
		return true
	}
	id := members["id"]
	return bytes.HasPrefix(members["content"], []byte("{")) && len(id) > 0 && id[0] >= '1' && id[0] <= '9'
}

// lineReader splits an input into lines. It holds at most maxLine bytes of a line.
type lineReader struct {
	r      *bufio.Reader
	number int64
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(r, 256<<10)} }

// chunk returns the next lines, or none at the end of the input.
func (lr *lineReader) chunk(maxLines, maxBytes int) ([]*line, error) {
	var lines []*line
	for size := 0; len(lines) < maxLines && size < maxBytes; {
		l, err := lr.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, &l)
		size += len(l.raw)
	}
	return lines, nil
}

// next returns one line, or io.EOF. The last line may lack its line end.
func (lr *lineReader) next() (line, error) {
	l := line{}
	var rest hash.Hash
	for {
		part, err := lr.r.ReadSlice('\n')
		l.length += int64(len(part))
		switch {
		case rest != nil:
			rest.Write(part)
		case len(l.raw)+len(part) > maxLine+2: // a line end of up to two bytes does not count
			l.tooLong, rest = true, sha256.New()
			rest.Write(l.raw)
			rest.Write(part)
			l.raw = nil
		default:
			l.raw = append(l.raw, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return line{}, err
		}
		if l.length == 0 {
			return line{}, io.EOF
		}
		break
	}
	if rest != nil {
		rest.Sum(l.digest[:0])
	}
	lr.number++
	l.number = lr.number
	l.blank = !l.tooLong && len(bytes.TrimSpace(l.raw)) == 0
	return l, nil
}

// prefixDigest is the running digest of all lines added so far.
type prefixDigest struct {
	h     hash.Hash
	bytes int64
}

func newPrefixDigest() *prefixDigest { return &prefixDigest{h: sha256.New()} }

func (d *prefixDigest) add(l line) {
	if l.tooLong {
		d.h.Write(l.digest[:])
	} else {
		d.h.Write(l.raw)
	}
	d.bytes += l.length
}

func (d *prefixDigest) hex() string { return hex.EncodeToString(d.h.Sum(nil)) }
