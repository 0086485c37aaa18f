package item

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

// fullUnit returns a unit with a value for every member.
func fullUnit() Unit {
	return Unit{
		ID: 5, Name: "Shop the look", ImageURL: "https://cdn.example/5.png", ClickThroughURL: "https://shop.example/5",
		CatalogItem: json.RawMessage(`{"b": 1}`), CatalogImageURLSrc: json.RawMessage(`"main"`), ExternalID: "SKU-5", Archived: false, Managed: true,
		CreatedOn: "2024", LastModified: "2024-05-30T08:00:00Z", ClickUnitLibrary: 2, ActivateUnitLibrary: 3,
	}
}

// valuesOf collects the result of Values as text, by field name.
func valuesOf(it *Item, units []Unit, def *Unit, tags []Tag) map[string][]string {
	got := map[string][]string{}
	for f, v := range it.Values(units, def, tags) {
		text := v.Str
		switch f.Type {
		case query.Long, query.Date, query.Boolean:
			text = fmt.Sprint(v.Int)
		case query.Double:
			text = fmt.Sprint(v.Float)
		case query.Keyword, query.Text:
		}
		got[f.Name] = append(got[f.Name], text)
	}
	return got
}

func TestValuesOfAFullItem(t *testing.T) {
	it := everything()
	got := valuesOf(it, []Unit{fullUnit()}, nil, append(it.Tags, Tag{"hashtags", "beach_2"}))
	want := map[string][]string{
		"id": {"9"}, "entry_confirmation_sent": {"1"}, "approval_status": {"app"}, "campaign": {"12"}, "shortened_permalink": {"https://s.example/9"},
		"created_on": {"1795161600000"}, "last_modified": {"1795252211012"}, "featured": {"1"}, "claimed": {"1"}, "configuration": {`{"a":1}`},
		"hashtag.social_platform": {"twitter"}, "hashtag.id": {"3"}, "hashtag.hashtag_text": {"summer"},
		"content.text": {"On the beach"}, "content.content_type": {"image"}, "content.content_state": {"hidden"}, "content.social_platform": {"instagram"},
		"content.created_on": {"1795158000000"}, "content.social_platform_created_on": {"1795046400000"}, "content.platform_ref": {"ref"},
		"content.platform_ref:instagram": {"ref"},
		"content.author.username":        {"ann"}, "content.author.id": {"529"}, "content.author.platform_id": {"529"},
		"content.author.social_platform": {"facebook"}, "content.author.created_on": {"1420070400000"}, "content.author.profile.name": {"Ann Example"},
		"content.author.profile.username": {"ann.public"}, "content.author.profile.profile_link": {"https://instagram.example.com/ann"},
		"content.author.profile.avatar":                        {"https://media.example.com/a/ann.jpg"},
		"content.platform_data.location.name":                  {"Tokyo"},
		"content.platform_data.location.full_name":             {"Shibuya-ku, Tokyo"},
		"content.platform_data.location.country":               {"Japan"},
		"content.platform_data.location.country_code":          {"JP"},
		"content.platform_data.location.place_type":            {"city"},
		"content.platform_data.location.type":                  {"place"},
		"content.platform_data.location.url":                   {"https://places.example.com/Tokyo"},
		"content.platform_data.location.bounding_box":          {"box"},
		"content.platform_data.location.coordinates":           {"35.66,139.70"},
		"content.platform_data.geo_data.type":                  {"Point"},
		"content.platform_data.geo_data.coordinates.latitude":  {"35.66"},
		"content.platform_data.geo_data.coordinates.longitude": {"139.7"},
		"content.platform_data.social_platform_original_url":   {"https://instagram.example.com/p/9"},
		"content.media.id":                                     {"90"}, "content.media.mediatype": {"photo"}, "content.media.social_platform": {"tumblr"},
		"content.media.original_url":            {"https://media.example.com/9/o.jpg"},
		"content.media.base_url":                {"https://media.example.com/9/b"},
		"content.media.platform_data.url":       {"https://media.example.com/9/"},
		"content.media.media_urls.small_image":  {"https://media.example.com/9/s.jpg"},
		"content.media.media_urls.medium_image": {"https://media.example.com/9/m.jpg"},
		"content.media.media_urls.large_image":  {"https://media.example.com/9/l.jpg"},
		"tags.hashtags.key":                     {"summer", "beach_2"},
		"tags.marketer_tags.key":                {"hero"},
		"submission.email":                      {"a@b.example"},
		"_all":                                  {"summer", "Japan", "Shibuya-ku, Tokyo", "Tokyo", "Ann Example", "ann", "On the beach"},
	}
	for member, text := range map[string]string{
		"id": "5", "name": "Shop the look", "image_url": "https://cdn.example/5.png", "click_through_url": "https://shop.example/5",
		"catalog_item": `{"b":1}`, "catalog_image_url_src": "main", "external_id": "SKU-5", "archived": "0", "managed": "1",
		"created_on": "1704067200000", "last_modified": "1717056000000", "click_unit_library": "2", "activate_unit_library": "3",
	} {
		want["activate_units."+member] = []string{text}
		want["default_activate_unit."+member] = []string{text}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValuesAndCatalogueHaveTheSameFields(t *testing.T) {
	emitted := map[string]query.Field{}
	it := everything()
	for f := range it.Values([]Unit{fullUnit()}, nil, it.Tags) {
		emitted[f.Name] = f
	}
	for _, f := range query.Fields() {
		if emitted[f.Name] != f {
			t.Errorf("%s of the catalogue: a full item yields %+v", f.Name, emitted[f.Name])
		}
	}
	for name, f := range emitted {
		if known, ok := query.Lookup(name); !ok || known != f {
			t.Errorf("%q is yielded as %+v, the catalogue holds %+v", name, f, known)
		}
		if f.Private != (name == query.LastModified || strings.HasPrefix(name, "submission.")) {
			t.Errorf("%s: private %v", name, f.Private)
		}
	}
	inAll := map[string]bool{}
	for _, r := range query.Rows() {
		if r.InAll {
			inAll[r.Name] = true
		}
	}
	all := valuesOf(it, nil, nil, nil)
	var want []string
	for name := range inAll {
		want = append(want, all[name]...)
	}
	got := all[query.AllField]
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values of %s (-want +got):\n%s", query.AllField, diff)
	}
}

func TestValuesOmitFillers(t *testing.T) {
	it := &Item{ID: 1, ApprovalStatus: Pending, CreatedOn: "2015", Content: Content{ContentType: Text}}
	want := map[string][]string{
		"id": {"1"}, "approval_status": {"pen"}, "created_on": {"1420070400000"}, "content.content_type": {"text"},
		"featured": {"0"}, "claimed": {"0"}, "entry_confirmation_sent": {"0"},
	}
	if diff := cmp.Diff(want, valuesOf(it, nil, nil, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValuesOfFreeJSON(t *testing.T) {
	for raw, want := range map[string][]string{
		``: nil, `null`: nil, `""`: nil, ` [ ] `: nil, `{}`: nil,
		`"text"`: {"text"}, `false`: {"false"}, `0`: {"0"}, `[ 1, "a" ]`: {`[1,"a"]`},
	} {
		it := &Item{Configuration: json.RawMessage(raw)}
		if raw == "" {
			it.Configuration = nil
		}
		if diff := cmp.Diff(want, valuesOf(it, nil, nil, nil)["configuration"]); diff != "" {
			t.Errorf("configuration %s (-want +got):\n%s", raw, diff)
		}
	}
}

func TestValuesOfTheDefaultUnit(t *testing.T) {
	live, old, property := Unit{ID: 1}, Unit{ID: 2, Archived: true}, Unit{ID: 3}
	for name, tc := range map[string]struct {
		units          []Unit
		property       *Unit
		attached, show []string
	}{
		"none":               {nil, nil, nil, nil},
		"the property's":     {[]Unit{old}, &property, []string{"2"}, []string{"3"}},
		"its own":            {[]Unit{old, live}, &property, []string{"2", "1"}, []string{"1"}},
		"only archived ones": {[]Unit{old}, nil, []string{"2"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := valuesOf(&Item{}, tc.units, tc.property, nil)
			if diff := cmp.Diff([][]string{tc.attached, tc.show}, [][]string{got["activate_units.id"], got["default_activate_unit.id"]}); diff != "" {
				t.Errorf("attached and shown (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValuesStopWhenAsked(t *testing.T) {
	it := everything()
	all := 0
	for range it.Values([]Unit{fullUnit()}, nil, it.Tags) {
		all++
	}
	for most := 1; most <= all; most++ {
		n := 0
		for range it.Values([]Unit{fullUnit()}, nil, it.Tags) {
			if n++; n == most {
				break
			}
		}
		if n != most {
			t.Fatalf("%d values after a break at %d", n, most)
		}
	}
}

func TestSubmissionValues(t *testing.T) {
	got := valuesOf(&Item{Submission: json.RawMessage(`{"a.b c":"x","email":"e","empty":""}`)}, nil, nil, nil)
	maps.DeleteFunc(got, func(name string, _ []string) bool { return !strings.HasPrefix(name, "submission") })
	if diff := cmp.Diff(map[string][]string{"submission.a.b c": {"x"}, "submission.email": {"e"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFieldNames(t *testing.T) {
	it := everything()
	it.Submission = json.RawMessage(`{"a.b c":"x","email":"e","empty":""}`)
	it.Tags = []Tag{{"hashtags", "beach"}, {"hashtags", "sea"}, {"vibe", "bold"}}
	var want []string
	for name := range valuesOf(it, nil, nil, it.Tags) {
		if strings.HasPrefix(name, "submission.") || strings.HasPrefix(name, "tags.") {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(it.FieldNames())); diff != "" || len(want) != 4 {
		t.Errorf("want the dynamic fields of Values (-want +got):\n%s", diff)
	}
	for range it.FieldNames() {
		break
	}
}

func BenchmarkValues(b *testing.B) {
	it, units := everything(), []Unit{fullUnit()}
	b.ReportAllocs()
	for b.Loop() {
		for range it.Values(units, nil, it.Tags) {
		}
	}
}
