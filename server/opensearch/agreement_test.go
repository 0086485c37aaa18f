package opensearch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
)

const shop library.PropertyID = "shop/default"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// agreed compares the library of this package with a second library, the judge. Both libraries have the same content.
type agreed struct {
	t              *testing.T
	clock          *librarytest.Clock
	cluster, judge library.Library
	seed           string // seed of random orders
}

// newAgreed fills both libraries. openJudge opens the judge.
func newAgreed(t *testing.T, openJudge func(dir string, clock func() time.Time) (library.Library, error)) *agreed {
	t.Helper()
	clock := librarytest.NewClock(noon)
	judge, err := openJudge(t.TempDir(), clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	a := &agreed{t: t, clock: clock, judge: judge, cluster: open(t, t.TempDir(), clock.Now)}
	t.Cleanup(func() {
		for _, l := range a.both() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	for _, l := range a.both() {
		results, err := l.Apply(t.Context(), agreedDefinitions())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		var muts []library.Mutation
		for _, line := range agreedItems() {
			parsed, err := item.ParseLine([]byte(line), item.ParseOptions{Now: noon})
			if err != nil {
				t.Fatalf("%v\n%s", err, line)
			}
			muts = append(muts, library.Mutation{Put: parsed.Item, Units: parsed.Units})
		}
		outcomes, err := l.Write(t.Context(), shop, muts)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range outcomes {
			if o.Err != nil {
				t.Fatalf("item %d: %v", i, o.Err)
			}
		}
	}
	return a
}

func (a *agreed) both() []library.Library { return []library.Library{a.judge, a.cluster} }

func manifest(kind library.Kind, name string) library.Owner {
	return library.Owner{Install: "cluster", Kind: kind, Namespace: "shop", Name: name}
}

func agreedDefinitions() []library.Definition {
	created := noon.Add(-time.Hour)
	tag := func(key, selector string, ids ...item.ID) library.Definition {
		return library.Definition{Property: shop, Owner: manifest(library.KindTag, key), Created: created, Tag: &library.TagRule{
			Tag: item.Tag{Namespace: "marketer_tags", Key: key}, Items: ids, Selector: selector,
		}}
	}
	unit := func(name, selector string, archived, byDefault bool, ids ...item.ID) library.Definition {
		return library.Definition{Property: shop, Owner: manifest(library.KindUnit, name), Created: created, Unit: &library.UnitRule{
			Unit: item.Unit{ID: library.UnitID(shop, "shop", name), Name: "Shop the " + name, ImageURL: "https://cdn.example/" + name + ".png",
				ClickThroughURL: "https://shop.example/" + name, Archived: archived},
			Items: ids, Selector: selector, Default: byDefault,
		}}
	}
	return []library.Definition{
		{Property: shop, Owner: manifest(library.KindProperty, "default"), PropertySpec: &library.Property{PlatformPageID: 1}},
		tag("summer", "text:beach OR text:sunset", 7), tag("new", "created_on:[now-10d TO *]"), tag("liked", `submission.note:yes`),
		unit("sandals", "tags.marketer_tags.key:summer", false, false, 3), unit("boots", "text:city", false, false, 4),
		unit("coats", "text:winter", true, false, 1, 2), unit("house", "", false, true), unit("hats", "", false, false, 2, 3, 7),
	}
}

// agreedItems returns the items as lines of an import.
func agreedItems() []string {
	words := strings.Fields("beach sunset city winter Beach-party friends coffee été 東京 don't music")
	platforms := []string{"instagram", "twitter", "tumblr", ""}
	var lines []string
	for i := range 40 {
		id := i + 1
		var text []string
		for k := range i % 7 {
			text = append(text, words[(i*3+k*5)%len(words)])
		}
		content := map[string]any{"content_type": "image", "text": strings.Join(text, " "), "original_url": fmt.Sprintf("https://posts.example/%d", id)}
		if p := platforms[i%4]; p != "" {
			content["social_platform"] = p
			content["platform_ref:"+p] = fmt.Sprintf("%d00%d", id%3, id)
		}
		if i%3 == 0 {
			content["author"] = map[string]any{"username": "Foodie" + fmt.Sprint(i%5), "profile": map[string]any{"name": words[i%len(words)] + " Fan"}, "id": i}
		}
		if i%5 == 0 {
			content["platform_data"] = map[string]any{
				"location": map[string]any{"name": "Praia do " + words[i%4], "country_code": []string{"PT", "us", "gb"}[i%3], "country": "Portugal"},
				"geo_data": map[string]any{"type": "Point", "coordinates": map[string]any{"latitude": float64(i) - 12.5, "longitude": 1.25}},
			}
		}
		line := map[string]any{
			"id": id, "approval_status": []string{"app", "rej", "pen"}[i%3], "created_on": noon.Add(-time.Duration(i*i) * time.Hour).Format(time.RFC3339),
			"featured": i%4 == 0, "content": content, "short_code": fmt.Sprintf("c%03d", id),
		}
		if i%2 == 0 {
			line["campaign"] = i % 6
		}
		if i%6 == 1 {
			line["tags"] = map[string]any{"vibe": []any{map[string]any{"key": "bold"}}, "marketer_tags": []any{map[string]any{"key": []string{"hero", "summer"}[i%2]}}}
		}
		if i%8 == 0 {
			line["submission"] = map[string]any{"email": fmt.Sprintf("User%d@mail.example", i), "note": []string{"yes", "no"}[i/8%2]}
		}
		line["last_modified"] = fmt.Sprintf("2026-11-%02d", 1+i%5)
		if i%9 == 0 {
			line["configuration"] = map[string]any{"page": i}
		}
		if i%10 == 3 {
			line["activate_units"] = []any{map[string]any{"id": 900 + i%20, "name": "Own " + words[i%5], "archived": i%20 == 3}, map[string]any{"id": 950, "name": "Second"}}
		}
		out, _ := json.Marshal(line)
		lines = append(lines, string(out))
	}
	return lines
}

var agreedQueries = []string{
	`*:*`, `beach`, `beach city`, `beach AND city`, `beach AND NOT city`, `"beach party"`, `"beach city"~5`, `be*`, `*ch`, `b?ach`, `/bea.h/`, `beech~1`, `beach~`,
	`text:[a TO c]`, `text:[* TO *]`, `text:{beach TO sunset}`, `text:>m`, `_exists_:text`, `_missing_:text`, `_exists_:content`, `_exists_:author`,
	`approval_status:(app,pen)`, `approval_status:APP`, `approval_status:a*`, `approval_status:[a TO b]`, `approval_status:/[ar].*/`, `NOT approval_status:app`,
	`campaign:2`, `campaign:[1 TO 3]`, `campaign:>3`, `campaign:{0 TO 4}`, `_missing_:campaign`, `featured:true`, `featured:false beach`, `claimed:true`, `claimed:false`,
	`created_on:[now-7d TO now]`, `created_on:2026`, `created_on:2026-11`, `created_on:>2026-11-15`, `created_on:[* TO 2026-10-01]`,
	`last_modified:2026-11`, `last_modified:[now-1h TO *]`, `last_modified:[2026-11-02 TO 2026-11-04]`, `_exists_:last_modified`, `last\*:2026`,
	`content.author.username:foodie*`, `author:foodie0`, `content.author.profile.name:fan`, `content.author.id:[3 TO 12]`,
	`content.platform_data.geo_data.coordinates.latitude:[-5 TO 10.5]`, `content.platform_data.geo_data.coordinates.latitude:>0`, `content.platform_data.geo_data.coordinates.latitude:"-12.5"`,
	`content.platform_data.location.country_code:pt`, `content.platform_data.location.\*:praia`, `portugal`, `praia beach`,
	`content.platform_ref:1*`, `content.platform_ref\:twitter:*`, `content.platform_ref\:t\*:100*`, `_exists_:content.platform_ref\:tumblr`,
	`tags.vibe.key:bold`, `tags.vibe:b*`, `tags.marketer_tags.key:summer`, `tags.marketer_tags:s*`, `tags.\*:summer`, `_exists_:tags`, `_missing_:tags`, `_exists_:tags.vibe`,
	`tags.marketer_tags.key:new`, `tags.marketer_tags.key:[h TO m]`, `tags.marketer_tags.key:sumer~1`, `tags.marketer_tags.key:/s.*/`, `-tags.marketer_tags.key:summer`, `tags.marketer_tags.key:(summer hero)`,
	`submission.note:yes`, `submission.email:"user8@mail.example"`, `submission.email:user*`, `submission.\*:yes`, `_exists_:submission`, `_missing_:submission.email`, `submission.email:[user1 TO user2]`,
	`/[^a-c]+/`, `/[^b]each|"city"|~x/`, `/c.*&.*y/`, `text:/\w+&.{5}/`, `tags.vibe.key:/[^b].*/`, `tags.marketer_tags.key:/"s"@&[^h]*r|<1-20>#?/`,
	`tags.marketer_tags.key:su??er`, `submission.email:/user8\@.*|(user1.+&.*\.example)/`, `submission.email:*8\@mail?example`, `content.platform_ref\:tumblr:/1[0-9]+/`,
	`activate_units.id:950`, `activate_units.archived:true`, `activate_units.managed:true`,
	`_exists_:activate_units`, `_missing_:activate_units`, `activate_units.click_through_url:*boots`, `activate_units.id:[900 TO 960]`,
	`default_activate_unit.archived:false`, `_exists_:default_activate_unit`,
	`id:5`, `id:[5 TO 9]`, `id:(1,3,99)`, `configuration:*page*`, `_exists_:configuration`, `hashtag.id:1`, `nosuchfield:x`, `été`, `東京`, `don't`, `music^3 coffee`, `(beach city)^2 winter`,
	`beach OR (city AND winter)`, `+beach -city`, `beach beach`, `text:(beach AND (city OR coffee))`, `content_type:image AND social_platform:twitter`, `co\*.text:beach`, `_all:beach`, ` `,
}

// unitQueries search the names of units. Their results are compared without relevance, because every matching word of a unit has the score
// 1 in this library.
var unitQueries = []string{
	`activate_units.name:sandals`, `activate_units.name:shop`, `activate_units.name:own`, `activate_units.name:"shop the boots"`, `activate_units.name:sho*`,
	`default_activate_unit.name:house`, `default_activate_unit.name:sandals`, `default_activate_unit.name:boots`, `default_activate_unit.name:second`,
	`default_activate_unit.name:own`, `default_activate_unit.name:(boots OR second)`, `-default_activate_unit.name:house`,
}

// TestAgreement compares the results of the library with those of the reference library.
func TestAgreement(t *testing.T) {
	a := newAgreed(t, func(dir string, clock func() time.Time) (library.Library, error) {
		return reference.Open(reference.Options{Dir: dir, Clock: clock})
	})
	orders := []string{"created_on:desc", "_score:desc", "id:asc", "campaign:desc,approval_status:asc", "submission.email:asc", "submission.email:desc",
		"content.platform_ref:twitter:asc", "content.author.username:desc", "content.platform_data.geo_data.coordinates.latitude:asc", "featured:desc", "random", "default_activate_unit.id:asc",
		"default_activate_unit.external_id:desc", "last_modified:desc", "last_modified:asc", "campaign:asc,default_activate_unit.id:desc"}
	for _, q := range agreedQueries {
		a.compare(q, orders[0], query.Private)
		a.compare(q, orders[1], query.Private)
	}
	for _, q := range unitQueries {
		a.compare(q, orders[0], query.Private)
	}
	for _, q := range []string{`*:*`, `beach OR city`} {
		for _, o := range orders {
			a.compare(q, o, query.Private)
		}
	}
	for _, n := range []int{0, 3, 8, 23, 24, 25, 31, 32, 33, 64, 70} {
		a.seed = strings.Repeat("s", n)
		a.compare(`*:*`, "random", query.Private)
	}
	for _, q := range []string{`s\*:yes`, `_exists_:s\*`, `tags.\*:summer`} {
		a.compare(q, orders[0], query.Public)
	}
}

func (a *agreed) compare(q, sort string, audience query.Audience) {
	a.t.Helper()
	parsed, err := query.ParseFor(q, audience)
	if err != nil {
		a.t.Errorf("%s: %v", q, err)
		return
	}
	order, err := query.ParseOrder(sort)
	if err != nil {
		a.t.Fatal(err)
	}
	type answer struct {
		Total   int64
		Items   []any
		Expires time.Time
		Err     string
		Pages   [][]any
	}
	var got [2]answer
	for i, l := range a.both() {
		r := library.Read{Property: shop, Audience: audience, Query: parsed.Root, Order: order, Limit: 100, Seed: a.seed}
		p, err := l.Read(a.t.Context(), r)
		if err != nil {
			got[i].Err = err.Error()
			continue
		}
		got[i].Total, got[i].Expires, got[i].Items = p.Total, p.Expires, a.items(p)
		for r.Limit = 7; ; {
			p, err := l.Read(a.t.Context(), r)
			if err != nil {
				a.t.Fatalf("%s by %s: %v", q, sort, err)
			}
			got[i].Pages = append(got[i].Pages, a.items(p))
			if r.After = p.Next; r.After == "" {
				break
			}
		}
	}
	ids := func(x answer) []any {
		var out []any
		for _, it := range x.Items {
			out = append(out, it.(map[string]any)["id"])
		}
		return out
	}
	if diff := cmp.Diff(ids(got[0]), ids(got[1])); diff != "" {
		a.t.Errorf("%s by %s: the other library %v, cluster %v", q, sort, ids(got[0]), ids(got[1]))
		return
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		a.t.Errorf("%s by %s (-other +cluster):\n%s", q, sort, diff[:min(len(diff), 1500)])
	}
}

func (a *agreed) items(p *library.Page) []any {
	a.t.Helper()
	var items []any
	if err := json.Unmarshal([]byte("["+string(p.Items)+"]"), &items); err != nil {
		a.t.Fatal(err)
	}
	return items
}
