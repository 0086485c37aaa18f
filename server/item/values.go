package item

import (
	"bytes"
	"encoding/json"
	"iter"

	"github.com/vitrine-dev/vitrine/server/query"
)

// Values yields every indexed value of the item with its field in the catalogue. Texts and keywords are as stored. Dates are in
// milliseconds, and a year, a month or a day means its first instant. Free JSON is a string if the JSON is a string, otherwise compact
// text. If bare words search a text, Values yields it a second time, under query.AllField. The parameters units and tags contain all units
// and tags that the item carries: its own and those from manifests. def is the property's default unit, or nil. It counts as
// default_activate_unit if all units of the item are archived (see DefaultUnit).
//
// Values yields nothing for missing values, so fillers are never indexed. It also yields the private fields of the submission (see
// query.Field.Private).
func (it *Item) Values(units []Unit, def *Unit, tags []Tag) iter.Seq2[query.Field, query.Value] {
	return func(yield func(query.Field, query.Value) bool) {
		e := emitter{yield: yield}
		yieldMembers(&e, itemTable, itemFields, it)
		e.submission(it.Submission)
		e.units(units, def)
		for _, t := range tags {
			e.word(resolve(query.TagFieldName(t.Namespace)), t.Key)
		}
	}
}

// UnitValues yields those values of Values that come from the units.
func UnitValues(units []Unit, def *Unit) iter.Seq2[query.Field, query.Value] {
	return func(yield func(query.Field, query.Value) bool) {
		e := emitter{yield: yield}
		e.units(units, def)
	}
}

// FieldNames yields the canonical names of the dynamic fields in which the item itself has a value, without duplicates (see query.TagField
// and query.SubmissionField).
func (it *Item) FieldNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		e := emitter{yield: func(f query.Field, _ query.Value) bool { return yield(f.Name) }}
		e.submission(it.Submission)
		for i, t := range it.Tags {
			if i == 0 || t.Namespace != it.Tags[i-1].Namespace {
				e.word(resolve(query.TagFieldName(t.Namespace)), t.Key)
			}
		}
	}
}

// emitter yields values until the consumer stops.
type emitter struct {
	yield func(query.Field, query.Value) bool
	done  bool
}

func (e *emitter) value(f query.Field, v query.Value) {
	if !e.done {
		e.done = !e.yield(f, v)
	}
}

// word yields a keyword or a text, unless it is empty.
func (e *emitter) word(f query.Field, s string) {
	if s != "" {
		e.value(f, query.Value{Str: s})
	}
}

func (e *emitter) date(f query.Field, timestamp string) {
	if ms, ok := Millis(timestamp); ok {
		e.value(f, query.Value{Int: ms})
	}
}

func (e *emitter) boolean(f query.Field, b bool) {
	v := query.Value{}
	if b {
		v.Int = 1
	}
	e.value(f, v)
}

// raw yields free JSON, except null, "", [] and {}, which count as missing (query language, Fields).
func (e *emitter) raw(f query.Field, raw json.RawMessage) {
	if raw == nil {
		return
	}
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) > 0 && raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			e.word(f, s)
			return
		}
	}
	switch compact := string(appendRaw(nil, raw)); compact {
	case "[]", "{}", "null":
	default:
		e.word(f, compact)
	}
}

// yieldMembers yields the values of the members that are in a table. fields are their fields.
func yieldMembers[T any](e *emitter, t *tableOf[T], fields []memberField, v *T) {
	present := t.present(v)
	for i, m := range t.members {
		f := &fields[i]
		if m.needs&^present != 0 || f.unused {
			continue
		}
		switch p := m.at(v).(type) {
		case *string:
			if m.form == formDate {
				e.date(f.Field, *p)
				continue
			}
			e.word(f.Field, *p)
			if f.inAll {
				e.word(allField, *p)
			}
			if m.suffix != nil && m.suffix(v) != "" {
				e.word(resolve(m.path+":"+m.suffix(v)), *p)
			}
		case *int64:
			if *p != 0 {
				e.value(f.Field, query.Value{Int: *p})
			}
		case **int64:
			if *p != nil {
				e.value(f.Field, query.Value{Int: **p})
			}
		case *bool:
			e.boolean(f.Field, *p)
		case *float64:
			e.value(f.Field, query.Value{Float: *p})
		case *json.RawMessage:
			e.raw(f.Field, *p)
		}
	}
}

func (e *emitter) units(units []Unit, def *Unit) {
	for i := range units {
		yieldMembers(e, unitTable, attachedFields, &units[i])
	}
	if u := DefaultUnit(units, def); u != nil {
		yieldMembers(e, unitTable, defaultFields, u)
	}
}

// submission yields the members of a submission. Their fields are named submission.<key>.
func (e *emitter) submission(raw json.RawMessage) {
	if raw == nil {
		return
	}
	for _, m := range decoded(raw).sorted() {
		if m.kind == text {
			e.word(resolve("submission."+m.name), m.text)
		}
	}
}

// memberField is the field of a member in the catalogue.
type memberField struct {
	query.Field
	// inAll means that bare words search the field. unused means that the member has no field.
	inAll, unused bool
}

// fieldsOf returns the fields of the members of a table. prefix precedes the path of a member in the name of its field.
func fieldsOf[T any](t *tableOf[T], prefix string) []memberField {
	inAll := map[string]bool{}
	for _, r := range query.Rows() {
		inAll[r.Name] = r.InAll
	}
	out := make([]memberField, len(t.members))
	for i, m := range t.members {
		f, ok := query.Lookup(prefix + m.path)
		out[i] = memberField{Field: f, inAll: inAll[f.Name], unused: !ok}
	}
	return out
}

var (
	allField       = resolve(query.AllField)
	itemFields     = fieldsOf(itemTable, "")
	attachedFields = fieldsOf(unitTable, "activate_units.")
	defaultFields  = fieldsOf(unitTable, "default_activate_unit.")
)

// resolve returns a field of the catalogue by its documented name, which exists.
func resolve(name string) query.Field {
	f, _ := query.Lookup(name)
	return f
}
