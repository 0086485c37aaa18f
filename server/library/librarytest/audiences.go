package librarytest

import (
	"bytes"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

var audienceTests = map[string]func(*world){
	"submission bytes": func(w *world) {
		w.serve()
		w.put(newItem(1, submitted(`{"email":"ann@mail.example","username":"ann"}`)), newItem(2))
		r := w.search("*:*")
		private := w.page(r)
		if !bytes.Contains(private.Items, []byte("ann@mail.example")) || strings.Count(string(private.Items), `"submission"`) != 2 {
			w.Errorf("a READ-WRITE token sees %s", private.Items)
		}
		r.Audience = query.Public
		public := w.page(r)
		if bytes.Contains(public.Items, []byte("ann")) || bytes.Contains(public.Items, []byte("submission")) {
			w.Errorf("a READ-ONLY token sees %s", public.Items)
		}
		w.equal("the same items", w.ids(public), w.ids(private))
	},
	"private fields": func(w *world) {
		w.serve()
		w.put(newItem(1, submitted(`{"email":"ann@mail.example"}`)), newItem(2))
		w.finds(`submission.email:"ann@mail.example"`, 1)
		w.finds("_missing_:submission.email", 2)
		for what, change := range map[string]func(*library.Read){
			"a query":     func(r *library.Read) { r.Query = w.query("submission.email:ann") },
			"exists":      func(r *library.Read) { r.Query = w.query("_exists_:submission.email") },
			"a condition": func(r *library.Read) { r.Where = w.query("_missing_:submission.email") },
			"an order":    func(r *library.Read) { r.Order = w.order("submission.email:asc") },
		} {
			r := w.search("*:*")
			r.Audience = query.Public
			change(&r)
			_, err := w.lib.Read(w.ctx(), r)
			wantError[*query.ForbiddenFieldError](w, what, err)
			r.Audience = query.Private
			w.page(r)
		}
	},
	"patterns": func(w *world) {
		w.serve()
		w.put(newItem(1, submitted(`{"note":"secret"}`)), newItem(2, func(it *item.Item) { it.ShortenedPermalink = "secret" }))
		r := w.search(`s\*:secret`)
		w.expect("with all rights", r, 2, 1)
		r.Audience = query.Public
		w.expect("only in public fields", r, 2)
		r.Query = w.query("secret")
		w.expect("no field", r)
	},
	"listing a filter with a private query": func(w *world) {
		w.serve()
		w.put(newItem(1, submitted(`{"note":"yes"}`)), newItem(2))
		w.accept(filter("wall", "submission.note:yes", order("submission.note:asc")))
		r := library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 10}
		w.expect("with a public caller", r, 1)
		if p := w.page(r); bytes.Contains(p.Items, []byte("yes")) {
			w.Errorf("the items show a field of the private query: %s", p.Items)
		}
		r.Where = w.query("submission.note:yes")
		_, err := w.lib.Read(w.ctx(), r)
		wantError[*query.ForbiddenFieldError](w, "a condition with the caller's rights", err)
	},
}
