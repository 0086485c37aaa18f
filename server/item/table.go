package item

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// memberOf is a row of a table of members: a member of T, which is Item or Unit.
type memberOf[T any] struct {
	// path is the place of the member in a line and in a response. It is also the name of its field in the catalogue, if it has one.
	path string
	// form determines which values are accepted. choices are the values of formChoice.
	form    form
	choices []string
	// at returns a pointer to the value: *string, *int64, **int64 (for a number that can be absent), *bool, *float64 or *json.RawMessage.
	// The optional object that contains the value must exist.
	at func(*T) any
	// If suffix is not nil, the path in a line is the path, a colon, and the suffix, which is the value of another member. There is a field
	// with this name too.
	suffix func(*T) string

	// text or number is the position of the value in an Encoded, and flag is its bit in the flags (see Encoded).
	text, number int
	flag         byte

	// filler is what the response shows, in JSON or as the inside of a string in JSON, if the member and the members instead have no value.
	filler  string
	instead []string
	// private means that only the private response contains the member. apart means that the response contains it in a form of its own.
	private, apart bool

	// patch means that a patch can change the member.
	patch bool
}

// objectOf is an object in T that can be absent.
type objectOf[T any] struct {
	path   string
	exists func(*T) bool
	// create makes sure that the object exists and that no other T has it.
	create func(*T)
}

func optional[T, O any](path string, at func(*T) **O) objectOf[T] {
	return objectOf[T]{
		path:   path,
		exists: func(t *T) bool { return *at(t) != nil },
		create: func(t *T) {
			o := new(O)
			if *at(t) != nil {
				*o = **at(t)
			}
			*at(t) = o
		},
	}
}

// tableOf is a table of members that is prepared for reading and writing.
type tableOf[T any] struct {
	members  []*rowOf[T]
	optional []objectOf[T]
	// objects are the objects that contain members, in the order of a line. The first one is T itself.
	objects []container
	// always is the index of the object that every line has.
	always int
}

// rowOf is a prepared memberOf.
type rowOf[T any] struct {
	memberOf[T]
	// name is the last part of the path, and object is the index of the object that contains the member.
	name   string
	object int
	// key begins the member in a line, after another member of its object. Before a suffix, it ends with a colon.
	key string
	// needs is the bit of the optional object that contains the member, or 0.
	needs uint8
}

// container is an object that contains members.
type container struct {
	// key begins the object in a line, after another member.
	path, name, key string
	// parent is the index of the object that contains this one, and within are the bits of the indexes of the object and all of its parents.
	parent int
	within uint32
}

// maxObjects is the maximum number of objects in a table.
const maxObjects = 16

// newTable prepares a table of which every line has the object always, the last one.
func newTable[T any](members []memberOf[T], optional []objectOf[T], always string) *tableOf[T] {
	t := &tableOf[T]{optional: optional, objects: []container{{within: 1}}}
	for _, m := range members {
		r := &rowOf[T]{memberOf: m}
		parent, name := cutLast(m.path)
		r.name, r.object, r.key = name, t.container(parent), `,"`+name+`":`
		if m.suffix != nil {
			r.key = `,"` + name + `:`
		}
		for i, o := range optional {
			if strings.HasPrefix(m.path, o.path+".") {
				r.needs = 1 << i
			}
		}
		t.members = append(t.members, r)
	}
	t.always = t.container(always)
	return t
}

// container returns the index of an object, and adds the object and its parents if they are new.
func (t *tableOf[T]) container(path string) int {
	if at := slices.IndexFunc(t.objects, func(c container) bool { return c.path == path }); at >= 0 {
		return at
	}
	parent, name := cutLast(path)
	c := container{path: path, name: name, key: `,"` + name + `":{`, parent: t.container(parent)}
	at := len(t.objects)
	c.within = t.objects[c.parent].within | 1<<at
	t.objects = append(t.objects, c)
	return at
}

// cutLast splits a path into the path of the object that contains the member and the name of the member.
func cutLast(path string) (object, name string) {
	dot := strings.LastIndexByte(path, '.')
	return path[:max(dot, 0)], path[dot+1:]
}

// present returns the bits of the optional objects that exist.
func (t *tableOf[T]) present(v *T) (found uint8) {
	for i := range t.optional {
		if t.optional[i].exists(v) {
			found |= 1 << i
		}
	}
	return found
}

// place returns a pointer to the value of a member (see memberOf.at), and creates the object that contains it unless the object is in
// present.
func (t *tableOf[T]) place(v *T, m *rowOf[T], present *uint8) any {
	if m.needs&^*present != 0 {
		t.optional[bits.TrailingZeros8(m.needs)].create(v)
		*present |= m.needs
	}
	return m.at(v)
}

// readMembers reads the members that are in the table.
func readMembers[T any](o *object, t *tableOf[T], v *T) {
	var objects [maxObjects]object
	objects[0] = *o
	last := 0
	var present uint8
	for _, m := range t.members {
		for ; last < m.object; last++ {
			c := &t.objects[last+1]
			objects[last+1] = objects[c.parent].inside(c.name, c.path)
		}
		in := &objects[m.object]
		if in.kind != structure {
			continue
		}
		switch {
		case m.form.quoted():
			if s := in.formed(m.name, m.form, m.choices); s != "" {
				*t.place(v, m, &present).(*string) = s
			}
		case m.form.isNumber():
			if n := in.whole(m.name, m.form); n != nil && (*n != 0 || m.flag != 0) {
				setNumber(t.place(v, m, &present), n)
			}
		case m.form.isFlag():
			if in.boolean(m.name) {
				*t.place(v, m, &present).(*bool) = true
			}
		case m.form == formLatitude || m.form == formLongitude:
			if in.has(m.name) {
				*t.place(v, m, &present).(*float64) = in.coordinate(m.name, m.form)
			}
		default:
			if raw := in.free(m.name, m.form); raw != nil {
				*t.place(v, m, &present).(*json.RawMessage) = raw
			}
		}
	}
}

// setNumber sets the number of a member (see memberOf.at). nil means none.
func setNumber(at any, n *int64) {
	switch p := at.(type) {
	case *int64:
		*p = zero(n)
	case **int64:
		*p = n
	}
}

// appendMembers appends the members that have a value. It omits objects without any, except for t.always.
func appendMembers[T any](dst []byte, t *tableOf[T], v *T) []byte {
	present, in := t.present(v), 0
	for _, m := range t.members {
		if m.needs&^present != 0 {
			continue
		}
		at := m.at(v)
		if !given(at) && !m.form.isFlag() {
			continue
		}
		if m.object != in {
			dst = t.appendMove(dst, in, m.object)
			in = m.object
		}
		dst = append(dst, m.key[leads(dst):]...)
		if m.suffix != nil {
			dst = append(appendEscaped(dst, m.suffix(v)), '"', ':')
		}
		switch p := at.(type) {
		case *string:
			dst = AppendString(dst, *p)
		case *int64:
			dst = strconv.AppendInt(dst, *p, 10)
		case **int64:
			dst = strconv.AppendInt(dst, **p, 10)
		case *bool:
			dst = strconv.AppendBool(dst, *p)
		case *float64:
			dst = appendFloat(dst, *p)
		case *json.RawMessage:
			dst = appendRaw(dst, *p)
		}
	}
	return t.appendMove(t.appendMove(dst, in, t.always), t.always, 0)
}

// appendMove ends objects and begins others, so that the next member is in the object to instead of the object from.
func (t *tableOf[T]) appendMove(dst []byte, from, to int) []byte {
	for ; t.objects[to].within&(1<<from) == 0; from = t.objects[from].parent {
		dst = append(dst, '}')
	}
	if from == to {
		return dst
	}
	to, inner := t.objects[to].parent, &t.objects[to]
	dst = t.appendMove(dst, from, to)
	return append(dst, inner.key[leads(dst):]...)
}

// leads returns 1 if the next member is the first one of its object, otherwise 0.
func leads(dst []byte) int {
	if dst[len(dst)-1] == '{' {
		return 1
	}
	return 0
}

// given reports whether a value is not the one that means none. A number of degrees is always given.
func given(at any) bool {
	switch p := at.(type) {
	case *string:
		return *p != ""
	case *int64:
		return *p != 0
	case **int64:
		return *p != nil
	case *bool:
		return *p
	case *json.RawMessage:
		return *p != nil
	}
	return true
}
