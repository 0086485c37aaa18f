package librarytest

import (
	"errors"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// scope parses the query of a token.
func (w *world) scope(text string) *library.TokenScope {
	w.Helper()
	s, err := library.ParseTokenScope(text)
	if err != nil {
		w.Fatalf("scope %q: %v", text, err)
	}
	return s
}

var scopeTests = map[string]func(*world){
	"a query, a filter and facets": func(w *world) {
		w.serve()
		w.put(newItem(1, status("app"), tagged("color", "red")), newItem(2, status("rej"), tagged("color", "blue")), newItem(3, status("app")))
		w.accept(filter("wall", "*:*"))
		for what, r := range map[string]library.Read{
			"query":  w.search("*:*"),
			"filter": {Property: shop, Filter: ref(filter("wall", "")), Limit: 10},
		} {
			r.Order = w.order("id:asc")
			w.expect("everything with a "+what, r, 1, 2, 3)
			r.Scope = w.scope("approval_status:app")
			w.expect("in the scope with a "+what, r, 1, 3)
			w.expect("again", r, 1, 3)
			r.Scope = w.scope("approval_status:rej")
			w.expect("in another scope", r, 2)
			r.Where = w.query("id:(1 OR 2)")
			w.expect("with a condition", r, 2)
			r.Scope = w.scope("approval_status:app")
			found, err := w.lib.Facets(w.ctx(), r, library.Facet{Field: query.AllTags, Limit: 10})
			if err != nil {
				w.Fatal(err)
			}
			w.equal("values in the scope", found, &library.Facets{Field: query.AllTags, Total: 1, Values: []library.FacetValue{{Value: "color:red", Count: 1}}})
		}
	},
	"one item": func(w *world) {
		w.serve()
		w.put(newItem(1, status("rej")), newItem(2, status("rej")), newItem(3, created("2026-11-20T12:00:01Z")))
		w.accept(tagRule("hero", "", []item.ID{2}))
		read := func(id item.ID, q string) error {
			shown, err := w.lib.ReadItem(w.ctx(), library.ItemRead{Property: shop, ID: id, Scope: w.scope(q)})
			if err == nil && len(shown) == 0 {
				w.Errorf("item %d in %s is empty", id, q)
			}
			return err
		}
		for q, hidden := range map[string]error{"approval_status:rej": nil, "tags.marketer_tags:hero": nil, "approval_status:app": library.ErrNotFound, "NOT id:2": library.ErrNotFound} {
			w.errorIs("item 2 in the scope "+q, read(2, q), hidden)
		}
		w.errorIs("an unknown item", read(99, "*:*"), library.ErrNotFound)
		w.errorIs("an item of the last day", read(3, "created_on:[now-1d TO now]"), nil)
		w.clock.Advance(time.Minute)
		w.errorIs("the same item later", read(3, "created_on:[now-1d TO now]"), library.ErrNotFound)
		w.patch(2, `{"approval_status":"app"}`)
		w.errorIs("a changed item", read(2, "approval_status:app"), nil)
	},
	"private fields": func(w *world) {
		w.serve()
		w.put(newItem(1, submitted(`{"note":"yes"}`)), newItem(2))
		r := w.search("*:*")
		r.Audience, r.Scope = query.Public, w.scope("submission.note:yes")
		w.expect("with a public caller", r, 1)
	},
	"scores": func(w *world) {
		w.serve()
		w.put(
			newItem(1, text("beach beach sun"), status("app")), newItem(2, text("beach"), status("app"), tagged("color", "red")),
			newItem(3, text("beach at night"), status("rej")), newItem(4, text("sun on a very long beach"), status("app")),
		)
		r := w.search("beach OR sun")
		all := w.ids(w.page(r))
		r.Scope = w.scope("approval_status:app AND (text:sun^50 OR tags.color:red^100 OR *:*)")
		var want []item.ID
		for _, id := range all {
			if id != 3 {
				want = append(want, id)
			}
		}
		w.expect("in the order without a scope", r, want...)
		r.Limit = 1
		first := w.page(r)
		r.After = first.Next
		w.expect("the second page", r, want[1])
	},
	"cursors": func(w *world) {
		w.serve()
		w.put(newItem(1), newItem(2), newItem(3))
		r := w.search("*:*")
		r.Limit = 1
		r.After = w.page(r).Next
		r.Scope = w.scope("id:3")
		_, err := w.lib.Read(w.ctx(), r)
		wantError[*library.CursorError](w, "a cursor of another scope", err)
	},
	"now": func(w *world) {
		w.serve()
		w.put(newItem(1, created("2026-11-21T11:00:00Z")), newItem(2, created("2026-11-20T11:30:00Z")))
		r := w.search("*:*")
		r.Scope = w.scope("created_on:[now-1d TO now]")
		w.expect("now", r, 1)
		if p := w.page(r); p.Expires.IsZero() {
			w.Error("the page does not expire")
		}
		r.Now = start.Add(-45 * time.Minute)
		w.expect("earlier", r, 1, 2)
	},
	"a broken query": func(w *world) {
		w.serve()
		bad := token("display", []byte{1})
		bad.Token.Query = "approval_status:("
		err := w.apply(bad)[0].Err
		wantError[*query.SyntaxError](w, "the query of a token", err)
		shopped := property(shop)
		shopped.PropertySpec.ReadOnlyQuery = "id:x"
		wantError[*query.SyntaxError](w, "the query of a property", w.apply(shopped)[0].Err)
		bad.Token.Query, bad.Token.Allow = "", []library.Action{library.Moderate}
		if err := w.apply(bad)[0].Err; !errors.Is(err, library.ErrInvalid) {
			w.Errorf("actions of a READ-ONLY token: %v; want ErrInvalid", err)
		}
		bad.Token.Allow = nil
		for _, s := range []library.Subject{{}, {User: "an", Group: "team"}} {
			bad.Token.Subjects = []library.Subject{{User: "an"}, s}
			if err := w.apply(bad)[0].Err; !errors.Is(err, library.ErrInvalid) {
				w.Errorf("subject %+v: %v; want ErrInvalid", s, err)
			}
		}
		bad.Token.Subjects, bad.Token.Filters = []library.Subject{{User: "an"}}, []string{}
		if err := w.apply(bad)[0].Err; !errors.Is(err, library.ErrInvalid) {
			w.Errorf("subjects of a token with filters: %v; want ErrInvalid", err)
		}
	},
}
