package item

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestDiffNamesEachMember gives a random item one member of another random item. Diff must name exactly this member, if its value differs.
func TestDiffNamesEachMember(t *testing.T) {
	m := newMaker(31)
	changed := map[string]int{}
	for range 200 {
		before, other := m.item(), m.item()
		for _, row := range itemTable.members {
			if uncompared(row) || row.needs&^(itemTable.present(before)&itemTable.present(other)) != 0 {
				continue
			}
			after := *before
			present := itemTable.present(&after) &^ row.needs // so that place copies the object
			reflect.ValueOf(itemTable.place(&after, row, &present)).Elem().Set(reflect.ValueOf(row.at(other)).Elem())
			changes := Diff(before, &after)
			differs := !bytes.Equal(Marshal(before, nil), Marshal(&after, nil))
			if row.path == pathPlatform && before.Content.PlatformRef != "" {
				continue // the name of the reference changes too
			}
			if differs != (len(changes) > 0) {
				t.Fatalf("%s: changes %+v, the items differ: %t\n%s\n%s", row.path, changes, differs, Marshal(before, nil), Marshal(&after, nil))
			}
			for _, c := range changes {
				changed[row.path]++
				if !strings.HasPrefix(c.Member, row.path) {
					t.Errorf("a change of %s is named %s", row.path, c.Member)
				}
				for _, v := range []*string{c.From, c.To} {
					if v != nil && (row.private || len(*v) > MaxChangeValue) {
						t.Errorf("%s: the value %q is in a change", c.Member, *v)
					}
				}
			}
		}
	}
	for _, row := range itemTable.members {
		if changed[row.path] == 0 && !uncompared(row) {
			t.Errorf("no item has a changed %s", row.path)
		}
	}
}

// uncompared reports whether Diff does not compare a member.
func uncompared(m *rowOf[Item]) bool {
	return slices.Contains([]string{"id", pathCode, pathModified}, m.path)
}

func TestDiffOfTagsAndUnits(t *testing.T) {
	before := &Item{Tags: []Tag{{"a", "x"}, {"a", "y"}}, Units: []int64{3, 1}}
	after := &Item{Tags: []Tag{{"a", "y"}, {"b", "z"}}}
	got, err := json.Marshal(Diff(before, after))
	want := `[{"member":"tags","from":"a:x","to":null},{"member":"tags","from":null,"to":"b:z"},{"member":"activate_units","from":"[3,1]","to":null}]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// TestDiffOfReferences checks the changes of a reference whose name, which contains the platform, changes too.
func TestDiffOfReferences(t *testing.T) {
	instagram := &Item{Content: Content{SocialPlatform: "instagram", PlatformRef: "p1"}}
	for _, c := range []struct {
		before, after *Item
		want          string
	}{
		{instagram, &Item{Content: Content{SocialPlatform: "tiktok", PlatformRef: "p2"}},
			"content.social_platform content.platform_ref:instagram content.platform_ref:tiktok"},
		{instagram, &Item{}, "content.social_platform content.platform_ref:instagram"},
		{&Item{}, instagram, "content.social_platform content.platform_ref:instagram"},
		{instagram, &Item{Content: Content{SocialPlatform: "instagram", PlatformRef: "p2"}}, "content.platform_ref:instagram"},
	} {
		var got []string
		for _, change := range Diff(c.before, c.after) {
			got = append(got, change.Member)
		}
		slices.Sort(got)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("the members are %q, want %q", got, want)
		}
	}
}
