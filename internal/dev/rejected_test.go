package dev

import (
	"context"
	"errors"
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

// TestManifest checks that the manifest of an object is that of the last load, also if the library serves an earlier version.
func TestManifest(t *testing.T) {
	w := newWorld(t)
	wall := library.Owner{Install: Install, Kind: library.KindFilter, Namespace: "shop", Name: "wall"}
	if _, err := w.Manifest(t.Context(), shop, wall); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("before the first load: %v", err)
	}
	w.write("property.yaml", property)
	w.write("filter.yaml", strings.Replace(with("sun"), "{name: wall}", "{name: wall, labels: {team: brand}}", 1))
	w.load()
	w.write("filter.yaml", strings.Replace(with("'text:('"), "{name: wall}", "{name: wall, labels: {team: brand}}", 1))
	w.load()
	m, err := w.Manifest(t.Context(), shop, wall)
	const want = `{"apiVersion":"vitrine.dev/v1alpha1","kind":"ContentFilter","metadata":{"name":"wall","namespace":"shop","labels":{"team":"brand"}},"spec":{"query":"text:("}}`
	if err != nil || string(m.Object) != want {
		t.Errorf("%s, %v; want %s", m.Object, err, want)
	}
	if _, err := w.Manifest(t.Context(), "shop/other", wall); !errors.Is(err, library.ErrNotFound) {
		t.Errorf("another property: %v", err)
	}
	w.write("filter.yaml", "")
	w.load()
	if _, err := w.Manifest(t.Context(), shop, wall); !errors.Is(err, library.ErrNotFound) {
		t.Errorf("a deleted file: %v", err)
	}
}
