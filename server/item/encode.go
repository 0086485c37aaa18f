package item

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Encoded is an item in the form in which libraries store it. It holds all values of the Item, and Append can build the response from it
// without an Item. Decode is the inverse of Encode. The format is:
//
//	byte     Format, or 1 (see record.parse)
//	byte     flags, which also say which numbers are present
//	varint   the numbers in the order of their positions, zigzag
//	texts    in the order of their positions, each as uvarint length and bytes: JSON, or the inside of a string in JSON; empty for none.
//	         A timestamp can be packed (see appendStamp)
//	tags     uvarint number; for each, namespace and key as texts
//	units    uvarint number; for each, its id as varint, zigzag
type Encoded []byte

// The texts, numbers and flags of itemTable, in the order of an Encoded. flagRows includes the numbers that can be absent.
var (
	textRows   = inOrder(form.isText, func(m *rowOf[Item]) int { return m.text })
	numberRows = inOrder(form.isNumber, func(m *rowOf[Item]) int { return m.number })
	flagRows   = withOwnFlags(without(func(m *rowOf[Item]) bool { return m.flag == 0 }))
)

// inOrder returns the rows of some forms in the order of their positions, which must be the numbers from 0.
func inOrder(has func(form) bool, position func(*rowOf[Item]) int) []*rowOf[Item] {
	out := without(func(m *rowOf[Item]) bool { return !has(m.form) })
	slices.SortFunc(out, func(a, b *rowOf[Item]) int { return cmp.Compare(position(a), position(b)) })
	for i, m := range out {
		if position(m) != i {
			panic(fmt.Sprintf("item member %s: its position is %d, but the next one is %d", m.path, position(m), i))
		}
	}
	return out
}

// withOwnFlags returns the rows, each of which must have a bit of its own.
func withOwnFlags(rows []*rowOf[Item]) []*rowOf[Item] {
	var used byte
	for _, m := range rows {
		if m.flag&used != 0 || m.flag&(m.flag-1) != 0 {
			panic(fmt.Sprintf("item member %s: its flag is %#x, but the flags %#x have owners", m.path, m.flag, used))
		}
		used |= m.flag
	}
	return rows
}

// without returns the rows of itemTable, except for some.
func without(some func(*rowOf[Item]) bool) []*rowOf[Item] {
	return slices.DeleteFunc(slices.Clone(itemTable.members), some)
}

// position returns the position of a text in an Encoded, also of a computed one (see textTag).
func position(path string) int {
	switch path {
	case firstHashtag:
		return textTag
	case shownImage:
		return textImage
	}
	at := slices.IndexFunc(textRows, func(m *rowOf[Item]) bool { return m.path == path })
	if at < 0 {
		panic("no text of an item is " + path)
	}
	return at
}

// Encode returns the item in the form in which libraries store it.
func Encode(it *Item) Encoded { return appendEncoded(make([]byte, 0, 1024), it) }

// Digest identifies the content of an item: everything that Encode encodes.
type Digest [sha256.Size]byte

// Digest returns the digest of the item.
func (it *Item) Digest() Digest { return sha256.Sum256(Encode(it)) }

// appendEncoded appends the result of Encode to dst.
func appendEncoded(dst []byte, it *Item) []byte {
	present := itemTable.present(it)
	var flags byte
	for _, m := range flagRows {
		if m.needs&^present == 0 && given(m.at(it)) {
			flags |= m.flag
		}
	}
	dst = append(dst, Format, flags)
	for _, m := range numberRows {
		var n int64
		if m.needs&^present == 0 {
			switch p := m.at(it).(type) {
			case *int64:
				n = *p
			case **int64:
				n = zero(*p)
			}
		}
		dst = binary.AppendVarint(dst, n)
	}
	for _, m := range textRows {
		// Reserve one byte for the length. It is enough for most texts, which are shorter than 128 bytes.
		at := len(dst)
		dst = append(dst, 0)
		if m.needs&^present != 0 {
			continue
		}
		switch p := m.at(it).(type) {
		case *string:
			if m.form == formDate {
				dst = appendStamp(dst, *p)
			} else {
				dst = appendEscaped(dst, *p)
			}
		case *json.RawMessage:
			if *p != nil {
				dst = appendRaw(dst, *p)
			}
		case *float64:
			dst = appendFloat(dst, *p)
		}
		dst = setSize(dst, at)
	}
	dst = binary.AppendUvarint(dst, uint64(len(it.Tags)))
	for _, t := range it.Tags {
		for _, text := range []string{t.Namespace, t.Key} {
			at := len(dst)
			dst = setSize(appendEscaped(append(dst, 0), text), at)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(it.Units)))
	for _, id := range it.Units {
		dst = binary.AppendVarint(dst, id)
	}
	return dst
}

// setSize puts the length of the text after dst[at] in the place of that byte.
func setSize(dst []byte, at int) []byte {
	n := len(dst) - at - 1
	if n < 1<<7 {
		dst[at] = byte(n)
		return dst
	}
	var length [binary.MaxVarintLen64]byte
	return slices.Replace(dst, at, at+1, length[:binary.PutUvarint(length[:], uint64(n))]...)
}

// record is a parsed Encoded.
type record struct {
	encoded Encoded
	flags   byte
	numbers [maxNumbers]int64
	// texts has further elements after those of the Encoded, which parse computes.
	texts [allTexts]extent
	// rest is the end of the Encoded: the number of tags, the tags, the number of units, and the ids of the units.
	rest []byte
}

// extent is the place of a text in an Encoded: its offset and its length in bytes. It contains no pointer, so that parse is fast.
type extent struct{ at, length int32 }

// maxTexts and maxNumbers are at least the numbers of texts and of numbers in an Encoded.
const (
	maxTexts   = len(itemMembers)
	maxNumbers = 8
)

// These are the positions of the computed texts in record.texts.
const (
	textTag   = maxTexts + iota // the key of the first tag in HashtagNamespace
	textImage                   // the original_url of the media, or none if the content type is Text
	textNone                    // empty
	allTexts
)

// These are the positions of the texts that parse uses.
var (
	textType, textOriginal    = position(pathType), position(pathOriginal)
	textCreated, textModified = position(pathCreated), position(pathModified)
)

// bytes returns a text.
func (r *record) bytes(i int) []byte {
	t := r.texts[i]
	return r.encoded[t.at : t.at+t.length]
}

// parse reads an Encoded. It returns false if e is not the result of Encode. In an Encoded of format 1, the last text is missing: the time of
// the last change. It is then the time at which the item was added.
func (r *record) parse(e Encoded) bool {
	if len(e) < 2 || len(e) > math.MaxInt32 || e[0] < 1 || e[0] > Format {
		return false
	}
	r.encoded, r.flags = e, e[1]
	in := parser{rest: e[2:]}
	for i := range numberRows {
		r.numbers[i] = in.number()
	}
	at := len(e) - len(in.rest)
	texts := r.texts[:len(textRows)]
	if e[0] == 1 {
		texts = texts[:textModified]
	}
	for i := range texts {
		if at >= len(e) {
			return false
		}
		length, size := int(e[at]), 1
		if length >= 1<<7 { // the length of most texts is one byte
			long, n := binary.Uvarint(e[at:])
			if n <= 0 || long > uint64(len(e)) {
				return false
			}
			length, size = int(long), n
		}
		at += size
		texts[i] = extent{int32(at), int32(length)}
		at += length
	}
	if at > len(e) {
		return false
	}
	if e[0] == 1 {
		r.texts[textModified] = r.texts[textCreated]
	}
	r.rest, in.rest = e[at:], e[at:]
	r.texts[textTag], r.texts[textImage] = extent{}, r.texts[textOriginal]
	if kind := r.bytes(textType); len(kind) == 0 || string(kind) == Text {
		r.texts[textImage] = extent{}
	}
	for range in.count() {
		namespace, key := in.text(), in.text()
		if r.texts[textTag].length == 0 && string(namespace) == HashtagNamespace {
			r.texts[textTag] = extent{int32(len(e) - len(in.rest) - len(key)), int32(len(key))}
		}
	}
	for range in.count() {
		in.number()
	}
	return !in.failed && len(in.rest) == 0
}

// parser reads the parts of an Encoded. After the first invalid part, it returns only zero values.
type parser struct {
	rest   []byte
	failed bool
}

func (p *parser) fail() {
	p.rest, p.failed = nil, true
}

func (p *parser) number() int64 {
	n, size := binary.Varint(p.rest)
	if size <= 0 {
		p.fail()
		return 0
	}
	p.rest = p.rest[size:]
	return n
}

// count reads the number of elements in a list. Each element takes at least one byte.
func (p *parser) count() int {
	n, size := binary.Uvarint(p.rest)
	if size <= 0 || n > uint64(len(p.rest)-size) {
		p.fail()
		return 0
	}
	p.rest = p.rest[size:]
	return int(n)
}

func (p *parser) text() []byte {
	if len(p.rest) > 0 && p.rest[0] < 1<<7 { // the length of most texts is one byte
		if n := int(p.rest[0]) + 1; n <= len(p.rest) {
			text := p.rest[1:n:n]
			p.rest = p.rest[n:]
			return text
		}
	}
	n := p.count()
	text := p.rest[:n:n]
	p.rest = p.rest[n:]
	return text
}
