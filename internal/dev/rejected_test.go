package dev

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/library"
)

func TestRejected(t *testing.T) {
	w := newWorld(t)
	if _, known, _ := w.Rejected(t.Context(), shop); known {
		t.Error("the objects are known before the first load")
	}
	expect := func(p library.PropertyID, want ...string) {
		t.Helper()
		all, known, err := w.Rejected(t.Context(), p)
		if err != nil || !known {
			t.Fatalf("known %t, %v", known, err)
		}
		got := []string{}
		for _, r := range all {
			if r.Reason == "" || r.Message == "" {
				t.Errorf("no reason or message: %+v", r)
			}
			got = append(got, r.Kind+" "+r.Namespace+"/"+r.Name[strings.LastIndex(r.Name, "/")+1:])
		}
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			t.Errorf("rejected in %s (-want +got):\n%s", p, diff)
		}
	}
	w.write("property.yaml", property)
	w.write("filter.yaml", with("'text:('"))
	w.load()
	expect(shop, "ContentFilter shop/wall")
	expect("shop/other")
	expect("elsewhere/default")
	w.write("filter.yaml", with("text:sun"))
	w.write("broken.yaml", "{")
	w.load()
	expect(shop, "File /broken.yaml")
	failing, cancel := context.WithCancel(t.Context())
	cancel()
	if l := w.Load(failing); l.Failed == nil {
		t.Fatal("a load whose context has ended succeeds")
	}
	expect(shop, "File /"+filepath.Base(w.dir))
	w.write("broken.yaml", "")
	w.load()
	expect(shop)
}
