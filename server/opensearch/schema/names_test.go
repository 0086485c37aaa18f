package schema

import (
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/library"
)

// TestNamesOfIndices checks that the name of an index identifies its property and is valid in OpenSearch.
func TestNamesOfIndices(t *testing.T) {
	n := Names{"vitrine"}
	for p, want := range map[library.PropertyID]string{
		"shop/default": "vitrine-items-shop_default==1",
		"a-b/c.d-2":    "vitrine-items-a-b_c.d-2==1",
		"Shop/x_y":     "vitrine-items-=53hop_x=5fy==1",
		"été/*":        "vitrine-items-=c3=a9t=c3=a9_=2a==1",
	} {
		got := Generation(n.Items(p), 1)
		if got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
		if back, ok := n.Property(got); !ok || back != p {
			t.Errorf("%s is read as %q", got, back)
		}
	}
	for index, want := range map[string]library.PropertyID{
		Generation(n.Items("shop/default"), 2): "shop/default", Generation(n.Items("shop/default-2"), 10): "shop/default-2",
	} {
		if p, ok := n.Property(index); !ok || p != want {
			t.Errorf("%s is read as %q, want %q", index, p, want)
		}
	}
	long := library.PropertyID(strings.Repeat("n", 63) + "/" + strings.Repeat("n", 253))
	if got := Generation(n.Items(long), 1); len(got) > 255 {
		t.Errorf("a name of %d bytes", len(got))
	}
	for _, other := range []string{"vitrine-facts", "vitrine-items-x", "vitrine-items-shop_default-1", "else-items-shop_default==1", "vitrine-items-=zz==1", "vitrine-items-==00==1"} {
		if p, ok := n.Property(other); ok {
			t.Errorf("%s is read as the items of %q", other, p)
		}
	}
}
