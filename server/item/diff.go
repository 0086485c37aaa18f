package item

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Change is the change of one member of an item. From and To are the value before and after, or nil if there was none. They are texts: the
// value of a text member, otherwise its JSON.
type Change struct {
	// Member is the path of the member in an export. It is submission.NAME for a member of a submission, whose values a Change never contains.
	// It is tags for one tag (NAMESPACE:KEY) that was added or removed, and activate_units for the ids of the item's own units.
	Member string  `json:"member"`
	From   *string `json:"from"`
	To     *string `json:"to"`
}

// MaxChangeValue is the maximum length of Change.From and Change.To, in bytes. Longer values are cut and end with "…".
const MaxChangeValue = 200

// Diff returns the changes of members from before to after, in the order of an export. The id, the short code and the time of the last change
// are not compared.
func Diff(before, after *Item) []Change {
	var changes []Change
	add := func(member string, from, to *string) { changes = append(changes, Change{member, cut(from), cut(to)}) }
	was, is := itemTable.present(before), itemTable.present(after)
	for _, m := range itemTable.members {
		if m.form == formID || m.form == formCode || m.path == pathModified {
			continue
		}
		from, to := valueText(m, before, was), valueText(m, after, is)
		if from == to || from != nil && to != nil && *from == *to {
			continue
		}
		switch {
		case m.private:
			for _, name := range changedNames(before.Submission, after.Submission) {
				add(m.path+"."+name, nil, nil)
			}
		case m.suffix != nil && m.suffix(before) != m.suffix(after): // two members
			if from != nil {
				add(m.path+":"+m.suffix(before), from, nil)
			}
			if to != nil {
				add(m.path+":"+m.suffix(after), nil, to)
			}
		case m.suffix != nil:
			add(m.path+":"+m.suffix(after), from, to)
		default:
			add(m.path, from, to)
		}
	}
	for _, t := range before.Tags {
		if !slices.Contains(after.Tags, t) {
			add("tags", new(t.Namespace+":"+t.Key), nil)
		}
	}
	for _, t := range after.Tags {
		if !slices.Contains(before.Tags, t) {
			add("tags", nil, new(t.Namespace+":"+t.Key))
		}
	}
	if !slices.Equal(before.Units, after.Units) {
		add("activate_units", idsText(before.Units), idsText(after.Units))
	}
	return changes
}

// valueText returns the value of a member as a text, or nil if it has none. present contains the optional objects that exist.
func valueText(m *rowOf[Item], it *Item, present uint8) *string {
	if m.needs&^present != 0 {
		return nil
	}
	at := m.at(it)
	if !given(at) && !m.form.isFlag() {
		return nil
	}
	switch p := at.(type) {
	case *string:
		return p
	case *int64:
		return new(strconv.FormatInt(*p, 10))
	case **int64:
		return new(strconv.FormatInt(**p, 10))
	case *bool:
		return new(strconv.FormatBool(*p))
	case *float64:
		return new(string(appendFloat(nil, *p)))
	case *json.RawMessage:
		return new(string(*p))
	}
	return nil
}

func idsText(ids []int64) *string {
	if len(ids) == 0 {
		return nil
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return new("[" + strings.Join(texts, ",") + "]")
}

// changedNames returns the sorted names of the members that differ between two submissions.
func changedNames(before, after json.RawMessage) []string {
	var was, is map[string]json.RawMessage
	// Ignore the errors: a submission is an object or empty, and a member that cannot be read counts as absent.
	_ = json.Unmarshal(before, &was)
	_ = json.Unmarshal(after, &is)
	changed := map[string]bool{}
	for name, value := range was {
		changed[name] = !bytes.Equal(value, is[name])
	}
	for name, value := range is {
		changed[name] = !bytes.Equal(value, was[name])
	}
	maps.DeleteFunc(changed, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(changed))
}

// cut returns a copy of a value that is not longer than MaxChangeValue.
func cut(s *string) *string {
	const end = "…"
	if s == nil {
		return nil
	}
	if len(*s) <= MaxChangeValue {
		return new(strings.Clone(*s))
	}
	n := MaxChangeValue - len(end)
	for !utf8.RuneStart((*s)[n]) {
		n--
	}
	return new((*s)[:n] + end)
}
