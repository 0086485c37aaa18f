package client

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/vitrine-dev/vitrine/server/item"
)

// line is one line of an import.
type line struct {
	number int64 // from 1
	// raw is the line with its line end, or nil if the line is too long.
	raw     []byte
	length  int64
	digest  [sha256.Size]byte // of the whole line, if it is too long
	blank   bool
	tooLong bool
	// done means that nothing is left to do for the line. unsure means that the line was sent, but its outcome is unknown.
	done, unsure bool
}

// identified reports whether a retry of the line cannot add a second item. That is the case if the line has an id, or if the server refuses
// the line because it is not a JSON object or its id is not valid. The server reads the id with the same code.
func (l *line) identified() bool {
	id, err := item.LineID(l.raw)
	return err != nil || id != 0
}

// lineReader splits an input into lines. It keeps at most maxLine bytes of a line in memory.
type lineReader struct {
	r      *bufio.Reader
	number int64
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(r, 256<<10)} }

// chunk returns the next lines. At the end of the input, it returns none.
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

// next returns one line, or io.EOF. The last line may have no line end.
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

// prefixDigest computes the digest of all lines added so far.
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
