package item

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Patch is a parsed merge patch. It contains only members that moderation can change (see ParsePatch).
type Patch struct {
	// changes are applied one after the other to a copy of the item.
	changes []change
	units   []int64
	hasUnit bool
}

// change is a change of a member, or of the whole item if member is nil. set gets a pointer to the value (see memberOf.at) or to the item.
type change struct {
	member *rowOf[Item]
	set    func(d *decoder, at any)
}

// ParsePatch parses the body of PATCH /v2/content/{id}: a JSON merge patch (RFC 7396) of approval_status, featured,
// campaign, claimed, entry_confirmation_sent, activate_units as ids, submission, configuration, content.text and
// content.content_state. Other members are ignored.
//
// null removes campaign, submission and its members, configuration and its members, all units, content.content_state, and the text of an
// image or a video. A null for any other of these members is refused (HTTP 422). Errors are *InvalidError.
func ParsePatch(body []byte) (*Patch, error) {
	d := &decoder{}
	root, err := d.document(body)
	if err != nil {
		return nil, err
	}
	p := &Patch{}
	for _, m := range itemTable.members {
		if m.patch {
			p.member(root, m)
		}
	}
	if content := root.child("content"); content.named("text") {
		p.set(nil, func(d *decoder, at any) {
			if it := at.(*Item); it.Content.ContentType == Text && strings.TrimSpace(it.Content.Text) == "" {
				d.unacceptable("content.text", "a text item needs a text")
			}
		})
	}
	p.attached(root)
	if err := d.failure(); err != nil {
		return nil, err
	}
	return p, nil
}

// Apply changes the item. If it fails, the item is unchanged, and the error is an *InvalidError that is not Malformed. Apply replaces
// members, and never modifies the data that they point to. The item can therefore be a shallow copy of an item that other goroutines use.
func (p *Patch) Apply(it *Item) error {
	changed := *it
	d := &decoder{}
	for _, c := range p.changes {
		var at any = &changed
		if c.member != nil {
			var present uint8 // copy the object that contains the member, because other goroutines may use it
			at = itemTable.place(&changed, c.member, &present)
		}
		c.set(d, at)
	}
	if err := d.failure(); err != nil {
		return err
	}
	*it = changed
	return nil
}

// Units returns the ids of the units that the patch gives to the item, and whether the patch changes the units at all. The library checks
// that the units exist.
func (p *Patch) Units() ([]int64, bool) { return slices.Clone(p.units), p.hasUnit }

// Members returns the paths of the members that the patch names. The submission counts as one member.
func (p *Patch) Members() []string {
	var names []string
	for _, c := range p.changes {
		if c.member != nil {
			names = append(names, c.member.path)
		}
	}
	if p.hasUnit {
		names = append(names, "activate_units")
	}
	return names
}

// Rejects reports whether the patch sets approval_status to Rejected, whatever the status of the item is.
func (p *Patch) Rejects() bool {
	var it Item
	for _, c := range p.changes {
		if c.member != nil && c.member.path == "approval_status" {
			var present uint8
			c.set(&decoder{}, itemTable.place(&it, c.member, &present))
		}
	}
	return it.ApprovalStatus == Rejected
}

// Private reports whether the patch changes a private member.
func (p *Patch) Private() bool {
	return slices.ContainsFunc(p.changes, func(c change) bool { return c.member != nil && c.member.private })
}

func (p *Patch) set(m *rowOf[Item], f func(d *decoder, at any)) {
	p.changes = append(p.changes, change{m, f})
}

// named reports whether the object has the member, even if its value is null.
func (o *object) named(name string) bool {
	return o.get(name).kind != absent
}

// member adds the change of a member, if the patch contains it.
func (p *Patch) member(root object, m *rowOf[Item]) {
	in := root
	for path := itemTable.objects[m.object].path; path != ""; {
		name, rest, _ := strings.Cut(path, ".")
		if in.named(name) && !in.has(name) {
			in.unacceptable(in.at(name), "cannot be removed")
		}
		in, path = in.child(name), rest
	}
	if !in.named(m.name) {
		return
	}
	switch {
	case m.form.quoted():
		p.text(in, m)
	case m.form.isNumber():
		n := in.whole(m.name, m.form)
		p.set(m, func(_ *decoder, at any) { setNumber(at, n) })
	case m.form.isFlag():
		if !in.has(m.name) {
			in.unacceptable(in.at(m.name), "cannot be removed: send true or false")
		}
		value := in.boolean(m.name)
		p.set(m, func(_ *decoder, at any) { *at.(*bool) = value })
	default:
		p.merge(in, m)
	}
}

func (p *Patch) text(in object, m *rowOf[Item]) {
	text := in.formed(m.name, m.form, m.choices)
	if m.form != formText && strings.TrimSpace(text) == "" {
		text = ""
	}
	if m.form == formChoice && text == "" {
		in.unacceptable(in.at(m.name), "cannot be removed: send %s", either(m.choices))
	}
	p.set(m, func(_ *decoder, at any) { *at.(*string) = text })
}

// merge adds the merge of free JSON or of a submission.
func (p *Patch) merge(in object, m *rowOf[Item]) {
	if m.form == formSubmission {
		in.submission() // only validates: null has a meaning in the members that are merged
	}
	patch := in.get(m.name)
	p.set(m, func(d *decoder, at any) {
		raw := at.(*json.RawMessage)
		merged := mergePatch(decoded(*raw), patch)
		if m.form == formSubmission {
			*raw = d.keepSubmission(merged.members)
			return
		}
		o := object{decoder: d, path: in.path, value: value{kind: structure, members: []member{{m.name, merged}}}}
		*raw = o.raw(m.name)
	})
}

func (p *Patch) attached(root object) {
	if !root.named("activate_units") {
		return
	}
	for _, v := range root.list("activate_units") {
		if v.kind == structure {
			root.malformed("activate_units", "expected the ids of units, got an object")
		}
	}
	p.hasUnit = true
	p.units, _ = root.units()
	p.set(nil, func(_ *decoder, at any) { at.(*Item).Units = p.units })
}

// mergePatch returns target with a merge patch applied (RFC 7396, section 2). It modifies neither argument.
func mergePatch(target, patch value) value {
	if patch.kind != structure {
		return patch
	}
	merged := map[string]value{}
	for _, m := range target.sorted() {
		merged[m.name] = m.value
	}
	for _, m := range patch.sorted() {
		if m.there() {
			merged[m.name] = mergePatch(merged[m.name], m.value)
		} else {
			delete(merged, m.name)
		}
	}
	out := value{kind: structure}
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		out.members = append(out.members, member{name, merged[name]})
	}
	return out
}

// decoded decodes raw JSON. If raw is empty, the kind of the result is absent.
func decoded(raw json.RawMessage) value {
	v, err := decodeValue(raw)
	if err != nil {
		return value{}
	}
	return v
}
