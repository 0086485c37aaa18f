package item

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// errEncoded means that bytes are not the result of Encode.
var errEncoded = errors.New("the bytes are not an encoded item")

// Decode returns the item of an Encoded. It is the inverse of Encode for items in normal form. An error means that the bytes are damaged.
// The error contains none of the bytes.
func Decode(e Encoded) (*Item, error) {
	var r record
	if !r.parse(e) {
		return nil, errEncoded
	}
	var d unescaper
	var stamp [stampLonger]byte
	it := &Item{}
	var present uint8
	for i, m := range textRows {
		text := r.bytes(i)
		if len(text) == 0 {
			continue
		}
		switch p := itemTable.place(it, m, &present).(type) {
		case *string:
			if m.form == formDate {
				text = unpackStamp(text, &stamp)
			}
			*p = d.text(text)
		case *json.RawMessage:
			*p = d.raw(text)
		case *float64:
			*p = d.float(text)
		}
	}
	for i, m := range numberRows {
		switch n := r.numbers[i]; {
		case m.flag == 0 && n != 0:
			*itemTable.place(it, m, &present).(*int64) = n
		case r.flags&m.flag != 0:
			*itemTable.place(it, m, &present).(**int64) = new(n)
		}
	}
	for _, m := range flagRows {
		if m.form.isFlag() && r.flags&m.flag != 0 {
			*itemTable.place(it, m, &present).(*bool) = true
		}
	}
	rest := parser{rest: r.rest}
	if n := rest.count(); n > 0 {
		it.Tags = make([]Tag, n)
		for i := range it.Tags {
			it.Tags[i] = Tag{Namespace: d.text(rest.text()), Key: d.text(rest.text())}
		}
	}
	if n := rest.count(); n > 0 {
		it.Units = make([]int64, n)
		for i := range it.Units {
			it.Units[i] = rest.number()
		}
	}
	if d.failed {
		return nil, errEncoded
	}
	return it, nil
}

// unescaper decodes the texts of an Encoded, which are JSON strings or JSON.
type unescaper struct {
	failed bool
	quoted []byte
}

func (d *unescaper) text(escaped []byte) string {
	if len(escaped) == 0 {
		return ""
	}
	d.quoted = append(append(append(d.quoted[:0], '"'), escaped...), '"')
	r := reader{text: string(d.quoted)}
	s, ok := r.string()
	d.failed = d.failed || !ok || r.at != len(r.text) || !utf8.ValidString(s)
	return s
}

func (d *unescaper) raw(text []byte) json.RawMessage {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	d.failed = d.failed || !json.Valid(text)
	return bytes.Clone(text)
}

func (d *unescaper) float(text []byte) float64 {
	f, err := strconv.ParseFloat(string(text), 64)
	d.failed = d.failed || err != nil || !json.Valid(text)
	return f
}
