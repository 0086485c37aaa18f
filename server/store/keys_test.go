package store

import (
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

func TestStretchEnd(t *testing.T) {
	t.Parallel()
	a, b := library.PropertyID("shop/a"), library.PropertyID("shop/b")
	_, afterA := propertyBounds(a)
	_, afterB := propertyBounds(b)
	histories := func(p library.PropertyID) string { return string(propertyKey(p, underHistory)) }
	items := func(p library.PropertyID) string { return string(propertyKey(p, underItem)) }
	behind := func(p library.PropertyID) string { return string(propertyKey(p, underItem+1)) }
	for name, c := range map[string]struct {
		key  []byte
		want string
	}{
		"nothing":        {nil, string(spaceProperty)},
		"of the store":   {[]byte(keyVersion), string(spaceProperty)},
		"a short code":   {codeKey(a, "x"), histories(a)},
		"a history":      {historyKey(a, item.MaxID), items(a)},
		"the first item": {itemKey(a, 0), behind(a)},
		"the last item":  {itemKey(a, item.MaxID), behind(a)},
		"a version":      {propertyKey(a, underVersion), string(afterA)},
		"the next one's": {codeKey(b, "x"), histories(b)},
		"the last one's": {propertyKey(b, underVersion), string(afterB)},
		"of the index":   {indexKey([]byte("j")), ""},
		"damaged":        {[]byte{spaceProperty}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := string(stretchEnd(c.key))
			if got != c.want {
				t.Errorf("stretchEnd(%q) = %q, want %q", c.key, got, c.want)
			}
			if got != "" && got <= string(c.key) {
				t.Errorf("the stretch of %q ends before it, at %q", c.key, got)
			}
		})
	}
}
