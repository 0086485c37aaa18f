package librarytest

import (
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// guest moves the manifest of a definition to the namespace wall.
func guest(d library.Definition) library.Definition {
	d.Owner.Namespace = wall.Namespace()
	return d
}

// hero checks which items carry the tag marketer_tags:hero.
func (w *world) hero(want ...item.ID) {
	w.Helper()
	r := w.search("tags.marketer_tags.key:hero")
	r.Order = w.order("id:asc")
	w.expect("hero", r, want...)
}

var grantTests = map[string]func(*world){
	"a grant admits manifests of another namespace, and its removal ends that at once": func(w *world) {
		admit := func(kinds ...string) library.Definition {
			return granting(shop, library.Grant{Namespaces: []string{"wall"}, Kinds: kinds, ReadOnly: true})
		}
		reads, writes := guest(token("reads", []byte{1})), guest(token("writes", []byte{2}))
		writes.Token.ReadWrite = true
		hero := guest(tagRule("hero", "", []item.ID{1}))
		l := w.listen()
		w.accept(granting(shop))
		w.put(newItem(1), newItem(2))
		for i, r := range w.apply(reads, writes, hero) {
			w.errorIs([]string{"a token", "a writer", "a tag"}[i]+" without a grant", r.Err, library.ErrNoProperty)
		}
		l.expect("synced")
		w.hero()
		w.accept(admit("AccessToken"))
		l.expect("reads of shop/default: 1")
		w.hero()
		w.accept(admit("Tag"))
		l.expect("reads gone")
		w.hero(1)
		w.restart()
		w.hero(1)
		l = w.listen()
		l.expect("synced")
		w.accept(admit("AccessToken", "Tag"))
		l.expect("reads of shop/default: 1")
		w.accept(granting(shop))
		l.expect("reads gone")
		w.hero()
		w.errorIs("again", w.apply(reads)[0].Err, library.ErrNoProperty)
	},
	"a manifest in the namespace of the Property takes precedence": func(w *world) {
		w.serve()
		w.put(newItem(1), newItem(2))
		w.accept(guest(tagRule("hero", "", []item.ID{1}, age(9))))
		w.hero(1)
		own := tagRule("hero", "", []item.ID{2}, age(1))
		w.accept(own)
		w.hero(2)
		w.remove(own.Owner)
		w.hero(1)
	},
}
