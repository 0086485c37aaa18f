package item

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/query"
)

// Slots holds the data of other objects that Append inserts into an encoded item.
type Slots struct {
	// Units are the item's conversion units in order, each encoded by EncodeUnit.
	Units [][]byte
	// Default is the item's default unit, encoded by EncodeUnit. nil means the null unit.
	Default []byte
	// BaseURL is the prefix of the server's own short links, without a trailing slash.
	BaseURL string
}

// nullUnit is the encoded null unit. Do not modify it.
var nullUnit = EncodeUnit(NullUnit())

// part is a part of the response: a constant text, followed by a value.
type part struct {
	lead short
	kind partKind
	// The value of a textPart or a stampPart is the first of these texts that is not empty, or the filler if all are empty. The value of a
	// numberPart is the number from[0], and the value of a flagPart is the flag from[0].
	from   [3]uint8
	filler short
}

type partKind uint8

const (
	textPart  partKind = iota
	stampPart          // like textPart, for a timestamp, which can be packed
	numberPart
	flagPart
)

// short is a constant text in an array of fixed size. Copying the whole array is faster than copying only the text.
type short struct {
	text   [shortRoom]byte
	length int
}

// shortRoom is the capacity of a short in bytes.
const shortRoom = 64

func newShort(s string) (t short) {
	if t.length = copy(t.text[:], s); t.length < len(s) {
		panic("too long for a short: " + s)
	}
	return t
}

// parts are the parts of the response up to the short link, tail is the constant text after them, and privateParts are the parts that only
// the private response has, at its end, followed by privateTail. They contain the syntax of JSON: texts are already escaped.
var parts, tail, privateParts, privateTail = layOut()

func layOut() (parts []part, tail string, privateParts []part, privateTail string) {
	l := layout{rows: without(func(m *rowOf[Item]) bool { return m.private || m.apart })}
	l.object("")
	parts, tail = l.parts, strings.TrimSuffix(l.lead, "}")
	l = layout{}
	for _, m := range itemTable.members {
		if m.private {
			if strings.Contains(m.path, ".") {
				panic("a private member must be at the top level: " + m.path)
			}
			l.lead += `,"` + m.path + `":`
			l.member(m)
		}
	}
	return parts, tail, l.parts, l.lead
}

// layout collects the parts of a response.
type layout struct {
	rows  []*rowOf[Item]
	parts []part
	// lead is the text after the last part.
	lead string
}

// object adds an object with all of its members.
func (l *layout) object(path string) {
	l.lead += "{"
	for i, name := range l.names(path) {
		if i > 0 {
			l.lead += ","
		}
		inner := strings.TrimPrefix(path+"."+name, ".")
		at := slices.IndexFunc(l.rows, func(m *rowOf[Item]) bool { return m.path == inner })
		switch {
		case at < 0:
			l.lead += `"` + name + `":`
			l.object(inner)
		case l.rows[at].form == formReference:
			l.lead += `"` + platformRef
			l.text(textPart, Direct, position(pathPlatform))
			l.lead = `":`
			l.member(l.rows[at])
		default:
			l.lead += `"` + name + `":`
			l.member(l.rows[at])
		}
	}
	l.lead += "}"
}

// names returns the names of the members of an object in the order of the response.
func (l *layout) names(path string) []string {
	names := slices.Clone(shownOrder[path])
	for _, m := range l.rows {
		inner, ok := strings.CutPrefix("."+m.path, strings.TrimSuffix("."+path, ".")+".")
		if name, _, _ := strings.Cut(inner, "."); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// member adds the value of a member.
func (l *layout) member(m *rowOf[Item]) {
	switch {
	case m.form.isFlag():
		l.add(part{kind: flagPart, from: [3]uint8{m.flag}})
	case m.form.isNumber():
		l.add(part{kind: numberPart, from: [3]uint8{uint8(m.number)}})
	default:
		from := []int{m.text}
		for _, path := range m.instead {
			from = append(from, position(path))
		}
		kind, quote := textPart, ""
		if m.form == formDate {
			kind = stampPart
		}
		if m.form.quoted() {
			quote = `"`
		}
		l.lead += quote
		l.text(kind, m.filler, from...)
		l.lead = quote
	}
}

func (l *layout) text(kind partKind, filler string, from ...int) {
	p := part{kind: kind, filler: newShort(filler), from: [3]uint8{uint8(textNone), uint8(textNone), uint8(textNone)}}
	for i, at := range from {
		p.from[i] = uint8(at)
	}
	l.add(p)
}

func (l *layout) add(p part) {
	p.lead = newShort(l.lead)
	l.parts, l.lead = append(l.parts, p), ""
}

// Append appends the item in response form as JSON. Every member that the specification requires is present and not null. Append fills in
// missing values (docs/http-api.md, "The item"): "Unknown" for places, Point 0/0 for geo_data, 0 for the campaign and ids, and about:blank
// for links. The platform of the hashtag, the author and the media becomes the item's social platform, or "direct" if the item has none. A
// missing name of the author becomes the other known name, or "unknown". For query.Private, the response contains the member submission,
// which is null if the item has none. For query.Public, it omits that member. Append allocates only if dst must grow. It appends nothing if
// e is not the result of Encode.
func (e Encoded) Append(dst []byte, a query.Audience, s Slots) []byte {
	var r record
	if !r.parse(e) {
		return dst
	}
	return r.append(dst, a, s)
}

// Slack is the capacity that Append needs in addition to the response, in bytes. It is more than the length of all constant texts plus
// shortRoom bytes for each value. The destination needs the space only while Append runs.
const Slack = 5 << 10

// append implements Encoded.Append.
func (r *record) append(dst []byte, a query.Audience, s Slots) []byte {
	dst = r.permalink(r.appendParts(dst, parts, Slack), s.BaseURL)
	dst = append(dst, `","activate_units":[`...)
	for i, u := range s.Units {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, u...)
	}
	dst = append(dst, `],"default_activate_unit":`...)
	if s.Default != nil {
		dst = append(dst, s.Default...)
	} else {
		dst = append(dst, nullUnit...)
	}
	if a == query.Private {
		dst = append(r.appendParts(dst, privateParts, (2*len(privateParts)+1)*shortRoom), privateTail...)
	}
	return append(dst, '}')
}

// appendParts appends parts of the response. slack is the capacity for their constant texts and their short values, see Slack.
func (r *record) appendParts(dst []byte, parts []part, slack int) []byte {
	// Most texts are short. Copying shortRoom bytes is faster than copying the exact number, and the next copy overwrites the surplus. After
	// a longer text, the free capacity is again at least slack.
	dst = slices.Grow(dst, slack)
	out, n := dst[:cap(dst)], len(dst)
	for i := range parts {
		p := &parts[i]
		*(*[shortRoom]byte)(out[n:]) = p.lead.text
		n += p.lead.length
		switch p.kind {
		case textPart, stampPart:
			t := r.texts[p.from[0]]
			if t.length == 0 {
				if t = r.texts[p.from[1]]; t.length == 0 {
					t = r.texts[p.from[2]]
				}
			}
			switch from := r.encoded[t.at:]; {
			case t.length == 0:
				*(*[shortRoom]byte)(out[n:]) = p.filler.text
				n += p.filler.length
			case p.kind == stampPart && isPacked(from[:t.length]):
				n += putStamp((*[stampLonger]byte)(out[n:]), from[:t.length])
			case t.length <= shortRoom && len(from) >= shortRoom:
				*(*[shortRoom]byte)(out[n:]) = [shortRoom]byte(from)
				n += int(t.length)
			default:
				out = slices.Grow(append(out[:n], from[:t.length]...), slack)
				out, n = out[:cap(out)], len(out)
			}
		case numberPart:
			n = len(strconv.AppendInt(out[:n], r.numbers[p.from[0]], 10))
		case flagPart:
			n = len(strconv.AppendBool(out[:n], r.flags&p.from[0] != 0))
		}
	}
	return out[:n]
}

// These are the positions of the texts from which permalink makes the short link.
var textPermalink, textCode = position(pathPermalink), position(pathCode)

// permalink appends the imported short link, or the server's own short link if none was imported. It omits the closing quote.
func (r *record) permalink(dst []byte, base string) []byte {
	dst = append(append(dst, tail...), `,"shortened_permalink":"`...)
	imported, code := r.bytes(textPermalink), r.bytes(textCode)
	switch {
	case len(imported) > 0:
		return append(dst, imported...)
	case len(code) == 0:
		return append(dst, blank...)
	}
	dst = append(appendEscaped(dst, base), ShortLinkPath...)
	return append(dst, code...)
}

// ShortLinkPath is the path between the base URL and the short code in a short link.
const ShortLinkPath = "/i/"
