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
	changes []func(*decoder, *Item)
	units   []int64
	hasUnit bool
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
	p.status(root)
	p.flag(root, "featured", func(it *Item, b bool) { it.Featured = b })
	p.flag(root, "claimed", func(it *Item, b bool) { it.Claimed = b })
	p.flag(root, "entry_confirmation_sent", func(it *Item, b bool) { it.EntryConfirmationSent = b })
	if root.named("campaign") {
		campaign := root.integer("campaign", MaxID)
		p.change(func(_ *decoder, it *Item) { it.Campaign = campaign })
	}
	p.attached(root)
	p.submission(root)
	p.configuration(root)
	p.content(root)
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
	for _, change := range p.changes {
		change(d, &changed)
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

func (p *Patch) change(f func(*decoder, *Item)) { p.changes = append(p.changes, f) }

// named reports whether the object has the member, even if its value is null.
func (o object) named(name string) bool {
	return o.get(name).kind != absent
}

func (p *Patch) status(root object) {
	if !root.named("approval_status") {
		return
	}
	status := root.oneOf("approval_status", Approved, Rejected, Pending)
	if status == "" {
		root.unacceptable("approval_status", "cannot be removed: send app, rej or pen")
	}
	p.change(func(_ *decoder, it *Item) { it.ApprovalStatus = status })
}

func (p *Patch) flag(root object, name string, set func(*Item, bool)) {
	if !root.named(name) {
		return
	}
	if !root.has(name) {
		root.unacceptable(name, "cannot be removed: send true or false")
	}
	value := root.boolean(name)
	p.change(func(_ *decoder, it *Item) { set(it, value) })
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
	p.change(func(_ *decoder, it *Item) { it.Units = p.units })
}

func (p *Patch) submission(root object) {
	if !root.named("submission") {
		return
	}
	if !root.has("submission") {
		p.change(func(_ *decoder, it *Item) { it.Submission = nil })
		return
	}
	// This call only validates the submission. The merge uses the original members, because null has a meaning there.
	root.submission()
	merge := root.child("submission").value
	p.change(func(d *decoder, it *Item) {
		it.Submission = d.keepSubmission(mergePatch(decoded(it.Submission), merge).members)
	})
}

func (p *Patch) configuration(root object) {
	if !root.named("configuration") {
		return
	}
	merge := root.get("configuration")
	p.change(func(d *decoder, it *Item) {
		merged := member{"configuration", mergePatch(decoded(it.Configuration), merge)}
		o := object{decoder: d, value: value{kind: structure, members: []member{merged}}}
		it.Configuration = o.raw("configuration")
	})
}

func (p *Patch) content(root object) {
	if !root.named("content") {
		return
	}
	if !root.has("content") {
		root.unacceptable("content", "cannot be removed")
	}
	content := root.child("content")
	if content.named("text") {
		text := content.text("text", MaxText)
		p.change(func(d *decoder, it *Item) {
			if it.Content.ContentType == Text && strings.TrimSpace(text) == "" {
				d.unacceptable("content.text", "a text item needs a text")
			}
			it.Content.Text = text
		})
	}
	if content.named("content_state") {
		state := content.given("content_state")
		p.change(func(_ *decoder, it *Item) { it.Content.ContentState = state })
	}
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
