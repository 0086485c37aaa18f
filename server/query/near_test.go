package query

import (
	"fmt"
	"strings"
	"testing"
)

// TestOtherNames checks that each name that people often write leads to a field that the caller may use, and that no field has it.
func TestOtherNames(t *testing.T) {
	for name, proposed := range otherNames() {
		f, ok := Lookup(proposed)
		if !ok {
			t.Errorf("%s: there is no field %q", name, proposed)
		}
		if _, ok := Lookup(name); ok {
			t.Errorf("%s is the name of a field", name)
		}
		if near := nearestField(strings.ToUpper(name), Private); near != proposed {
			t.Errorf("%s in upper case: %q", name, near)
		}
		for _, a := range []Audience{Public, Private} {
			warnings, err := Check(FieldTerm(name, "x"), a)
			if may := a == Private || !f.Private; err != nil || len(warnings) != 1 || strings.Contains(warnings[0].Message, fmt.Sprintf("%q", proposed)) != may {
				t.Errorf("%s for audience %d: %v, %v, may propose %q: %t", name, a, warnings, err, proposed, may)
			}
		}
	}
}

// TestNearestFieldOfTypingMistakes makes each possible mistake of one letter in the shortest name of each field.
func TestNearestFieldOfTypingMistakes(t *testing.T) {
	for _, f := range Fields() {
		name := f.Name
		for _, short := range Aliases(name) {
			if len(short) < len(name) {
				name = short
			}
		}
		for i := range name {
			mistakes := []string{name[:i] + name[i+1:], name[:i] + "x" + name[i+1:], name[:i] + "x" + name[i:]}
			if i > 0 {
				mistakes = append(mistakes, name[:i-1]+name[i:i+1]+name[i-1:i]+name[i+1:])
			}
			for _, mistake := range mistakes {
				_, known := Lookup(mistake)
				_, object := Object(mistake)
				_, other := otherNames()[mistake]
				if known || object || other || len(mistake) < 3 {
					continue
				}
				if got, _ := Lookup(nearestField(mistake, Private)); got.Name != f.Name && editDistance(mistake, nearestField(mistake, Private)) > 1 {
					t.Errorf("%s: %q, want %s", mistake, nearestField(mistake, Private), name)
				}
			}
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"status", "sttaus", 1}, {"kitten", "sitting", 3}, {"ça", "ca", 1},
	} {
		if a, b := editDistance(c.a, c.b), editDistance(c.b, c.a); a != c.want || b != c.want {
			t.Errorf("%q and %q: %d and %d, want %d", c.a, c.b, a, b, c.want)
		}
	}
}
