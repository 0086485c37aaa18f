package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// TestDifferences checks the events that follow from two complete lists, and that an unchanged object stays the same object.
func TestDifferences(t *testing.T) {
	object := func(name, uid, version string) client.Object {
		return &v1alpha1.Tag{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: version}}
	}
	objects := func(list ...client.Object) map[client.ObjectKey]client.Object {
		m := map[client.ObjectKey]client.Object{}
		for _, o := range list {
			m[client.ObjectKeyFromObject(o)] = o
		}
		return m
	}
	kept := object("kept", "1", "1")
	before := objects(kept, object("edited", "2", "2"), object("deleted", "3", "3"), object("replaced", "4", "4"))
	after := objects(object("kept", "1", "1"), object("edited", "2", "5"), object("replaced", "6", "6"), object("created", "7", "7"))
	var got []string
	for _, e := range differences(before, after) {
		o := e.Object.(client.Object)
		got = append(got, strings.Join([]string{o.GetName(), string(e.Type), string(o.GetUID()), o.GetResourceVersion()}, " "))
	}
	if i, j := slices.Index(got, "replaced DELETED 4 4"), slices.Index(got, "replaced ADDED 6 6"); i > j {
		t.Errorf("the new object comes before the deletion of the old one: %v", got)
	}
	slices.Sort(got)
	want := []string{"created ADDED 7 7", "deleted DELETED 3 3", "edited MODIFIED 2 5", "replaced ADDED 6 6", "replaced DELETED 4 4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if after[client.ObjectKeyFromObject(kept)] != kept {
		t.Error("the unchanged object is in memory twice")
	}
	if events := differences(after, after); len(events) != 0 {
		t.Errorf("a list without changes causes %v", events)
	}
}

// TestFollowingIsProven checks when a source counts as following: only a watch that lasts, or a complete list, proves that no event is
// lost.
func TestFollowingIsProven(t *testing.T) {
	s := newSource(nil, &v1alpha1.Tag{})
	r := &session{source: s, ctx: t.Context()}
	open := func() *stream {
		r.note(func() { r.open, r.failure = true, nil })
		return &stream{Interface: watch.NewEmptyWatch(), session: r}
	}
	expect := func(when string, following bool) {
		t.Helper()
		if err := s.check(); (err == nil) != following {
			t.Errorf("%s: %v, want following %v", when, err, following)
		}
	}
	expect("at first", false)
	if err := r.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	expect("after the list, without a watch", false)
	w := open()
	expect("after the list, with a watch", true)
	w.Stop()
	expect("after the API server has ended the watch", false)
	open()
	expect("with the next watch", true)
	r.failed(errWentBack)
	expect("after a failure", false)
	open()
	expect("with a watch that may end at once", false)
	expect("with a watch that has lasted", true)
}
