package schema

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// longestTerm is the maximum length of a keyword in bytes. Longer keywords are cut, because Lucene rejects terms longer than 32,766
// bytes.
const longestTerm = 32_000

// document appends the document of an item in JSON (see Schema.Document). It does not use package json, because that would take most of the
// time of an import.
func (c contents) document(dst []byte, it *item.Item, line []byte, trace Trace) []byte {
	d := documentWriter{append(dst, '{')}
	d.text(FieldItem, string(line))
	d.text(FieldWrite, trace.Token)
	if c.histories && trace.History != "" {
		d.text(FieldHistory, trace.History)
	}
	if c.tombstones && trace.Changed > 0 {
		d.number(FieldChanged, trace.Changed)
	}
	if c.tombstones && trace.Public > 0 {
		d.number(FieldPublic, trace.Public)
	}
	if it.ShortCode != "" {
		d.text(FieldCode, it.ShortCode)
	}
	if len(it.Units) > 0 {
		words := make([]string, len(it.Units))
		for i, id := range it.Units {
			words[i] = strconv.FormatInt(id, 10)
		}
		d.texts(FieldUnits, words)
		d.text(FieldUnitOrder, strings.Join(words, " "))
	}
	var all, dynamic, members []string
	present := make([]string, 0, 64)
	for f, v := range it.Values(nil, nil, it.Tags) {
		switch {
		case query.Dynamic(f.Name):
			list := &dynamic
			if c.submissions != FieldDynamic && query.IsSubmissionField(f.Name) {
				list = &members
			}
			*list = append(*list, dynamicTerm(f.Name, v.Str))
			// The tags of one namespace are adjacent, so comparing a name with the previous one finds all duplicates.
			if len(present) > 0 && present[len(present)-1] == f.Name {
				continue
			}
		case f.Name == query.AllField:
			all = append(all, v.Str)
			continue
		case !c.has(f):
			continue
		default:
			d.value(f, v)
		}
		present = append(present, f.Name)
	}
	if all != nil {
		present = append(present, query.AllField)
		d.texts(fieldAll, all)
	}
	d.texts(FieldPresent, present)
	if dynamic != nil {
		d.texts(FieldDynamic, dynamic)
	}
	if members != nil {
		d.texts(c.submissions, members)
	}
	d.dst[len(d.dst)-1] = '}'
	return d.dst
}

// Tombstone appends the document that replaces the document of an item that was deleted at a time.
func Tombstone(at time.Time, token string) func(dst []byte) []byte {
	return func(dst []byte) []byte {
		d := documentWriter{append(dst, '{')}
		d.number(FieldGone, at.UnixMilli())
		d.text(FieldWrite, token)
		d.dst[len(d.dst)-1] = '}'
		return d.dst
	}
}

// dynamicTerm returns the term that FieldDynamic or FieldSubmission contains for a value of a dynamic field.
func dynamicTerm(name, value string) string { return Cut(name + "\x00" + analysis.Keyword(value)) }

// documentWriter appends the members of a document, each followed by a comma.
type documentWriter struct{ dst []byte }

func (d *documentWriter) name(name string) {
	d.dst = append(item.AppendString(d.dst, name), ':')
}

func (d *documentWriter) text(name, text string) {
	d.name(name)
	d.dst = append(item.AppendString(d.dst, text), ',')
}

func (d *documentWriter) texts(name string, texts []string) {
	d.name(name)
	d.dst = append(d.dst, '[')
	for i, text := range texts {
		if i > 0 {
			d.dst = append(d.dst, ',')
		}
		d.dst = item.AppendString(d.dst, text)
	}
	d.dst = append(d.dst, ']', ',')
}

func (d *documentWriter) number(name string, n int64) {
	d.name(name)
	d.dst = append(strconv.AppendInt(d.dst, n, 10), ',')
}

// value appends a value of a catalogue field.
func (d *documentWriter) value(f query.Field, v query.Value) {
	d.name(f.Name)
	switch f.Type {
	case query.Text:
		d.dst = item.AppendString(d.dst, v.Str)
	case query.Keyword:
		d.dst = item.AppendString(d.dst, Cut(analysis.Keyword(v.Str)))
	case query.Long, query.Date:
		d.dst = strconv.AppendInt(d.dst, v.Int, 10)
	case query.Double:
		d.dst = strconv.AppendFloat(d.dst, v.Float, 'g', -1, 64)
	case query.Boolean:
		d.dst = strconv.AppendBool(d.dst, v.Int != 0)
	}
	d.dst = append(d.dst, ',')
}

// Cut shortens a keyword to longestTerm.
func Cut(s string) string {
	if len(s) <= longestTerm {
		return s
	}
	n := longestTerm
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
