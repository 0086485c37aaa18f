package librarytest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// option changes an item that newItem makes.
type option func(*item.Item)

// newItem makes an approved image that was created id%1000 seconds after start. Of items with ids below 1000, the item with the higher id
// is therefore newer.
func newItem(id item.ID, options ...option) *item.Item {
	it := &item.Item{
		ID: id, ApprovalStatus: item.Approved, CreatedOn: start.Add(time.Duration(id%1000) * time.Second).Format(time.RFC3339),
		ShortCode: fmt.Sprintf("code%d", id),
		Content:   item.Content{ContentType: item.Image, OriginalURL: fmt.Sprintf("https://posts.example/%d", id)},
	}
	for _, o := range options {
		o(it)
	}
	return it
}

// newItems makes items with the ids from first to last.
func newItems(first, last item.ID, options ...option) []*item.Item {
	var items []*item.Item
	for id := first; id <= last; id++ {
		items = append(items, newItem(id, options...))
	}
	return items
}

func text(s string) option         { return func(it *item.Item) { it.Content.Text = s } }
func status(s string) option       { return func(it *item.Item) { it.ApprovalStatus = s } }
func created(s string) option      { return func(it *item.Item) { it.CreatedOn = s } }
func campaign(n int64) option      { return func(it *item.Item) { it.Campaign = &n } }
func platform(s string) option     { return func(it *item.Item) { it.Content.SocialPlatform = s } }
func reference(s string) option    { return func(it *item.Item) { it.Content.PlatformRef = s } }
func attached(ids ...int64) option { return func(it *item.Item) { it.Units = ids } }

func tagged(namespace, key string) option {
	return func(it *item.Item) { it.Tags = append(it.Tags, item.Tag{Namespace: namespace, Key: key}) }
}

func submitted(body string) option {
	return func(it *item.Item) { it.Submission, it.Claimed = json.RawMessage(body), true }
}

func latitude(f float64) option {
	return func(it *item.Item) { it.Content.Geo = &item.Geo{Type: "Point", Latitude: f} }
}

func owner(kind library.Kind, namespace, name string) library.Owner {
	return library.Owner{Install: install, Kind: kind, Namespace: namespace, Name: name}
}

// edit changes a definition under construction.
type edit func(*library.Definition)

func made(d library.Definition, edits []edit) library.Definition {
	if d.Created.IsZero() {
		d.Created = start.Add(-24 * time.Hour)
	}
	for _, e := range edits {
		e(&d)
	}
	return d
}

// age sets the age of a manifest in hours.
func age(hours int) edit {
	return func(d *library.Definition) { d.Created = start.Add(time.Duration(-hours) * time.Hour) }
}

func ofWall(d *library.Definition) { d.Property = wall }

// property makes a Property that admits everything from the namespaces shop and wall.
func property(id library.PropertyID) library.Definition {
	return granting(id, library.Grant{
		Namespaces: []string{shop.Namespace(), wall.Namespace()}, Kinds: []string{"AccessToken", "ContentFilter", "Tag", "ActivateUnit"}, ReadOnly: true, ReadWrite: true,
	})
}

// granting makes a Property with grants.
func granting(id library.PropertyID, grants ...library.Grant) library.Definition {
	return library.Definition{
		Property: id, Owner: owner(library.KindProperty, id.Namespace(), "default"),
		PropertySpec: &library.Property{PlatformPageID: library.PlatformPageID(id), Grants: grants},
	}
}

// filter makes a ContentFilter in the namespace shop.
func filter(name, q string, edits ...edit) library.Definition {
	uuid, id := library.FilterIDs(shop, library.KindFilter, "shop", name)
	return made(library.Definition{
		Property: shop, Owner: owner(library.KindFilter, "shop", name),
		Filter: &library.Filter{UUID: uuid, ID: id, Name: name, Query: q},
	}, edits)
}

func order(s string) edit { return func(d *library.Definition) { d.Filter.Order = s } }

func heroesFirst(d *library.Definition) {
	d.Filter.Favourite = &item.Tag{Namespace: "marketer_tags", Key: "hero"}
}

func adopt(id int64) edit {
	return func(d *library.Definition) { d.Filter.UUID, d.Filter.ID, d.Filter.Adopt = "", id, true }
}

// httpFilter makes a filter as a caller would create it over HTTP.
func httpFilter(name, q string) library.Definition {
	// Derive the ids from the name, because random ids would differ between runs.
	uuid, id := library.FilterIDs("http/made", library.KindFilter, "http", name)
	return library.Definition{Property: shop, Filter: &library.Filter{UUID: uuid, ID: id, Name: name, Query: q, Order: "created_on:desc"}}
}

func ref(d library.Definition) *library.FilterRef { return &library.FilterRef{UUID: d.Filter.UUID} }

// tagRule makes a Tag in the namespace shop. The tag that it assigns is in the tag namespace marketer_tags.
func tagRule(key, selector string, ids []item.ID, edits ...edit) library.Definition {
	return made(library.Definition{
		Property: shop, Owner: owner(library.KindTag, "shop", key),
		Tag: &library.TagRule{Tag: item.Tag{Namespace: "marketer_tags", Key: key}, Items: ids, Selector: selector},
	}, edits)
}

func named(name string) edit { return func(d *library.Definition) { d.Owner.Name = name } }

func unitID(name string) int64 { return library.UnitID(shop, "shop", name) }

// unitRule makes an ActivateUnit in the namespace shop.
func unitRule(name, selector string, ids []item.ID, edits ...edit) library.Definition {
	return made(library.Definition{
		Property: shop, Owner: owner(library.KindUnit, "shop", name),
		Unit: &library.UnitRule{
			Unit:  item.Unit{ID: unitID(name), Name: name, ImageURL: "https://cdn.example/u.png", ClickThroughURL: "https://shop.example/u"},
			Items: ids, Selector: selector,
		},
	}, edits)
}

func byDefault(d *library.Definition) { d.Unit.Default = true }
func archived(d *library.Definition)  { d.Unit.Unit.Archived = true }

// token makes an AccessToken in the namespace shop. Each byte of values becomes the digest of one value.
func token(name string, values []byte, edits ...edit) library.Definition {
	d := library.Definition{Property: shop, Owner: owner(library.KindToken, "shop", name), Token: &library.Token{}}
	for _, v := range values {
		d.Token.Values = append(d.Token.Values, library.TokenValue{Digest: library.Digest{v}})
	}
	return made(d, edits)
}

// since sets Since for all values of a token, in hours after start.
func since(hours int) edit {
	return func(d *library.Definition) {
		for i := range d.Token.Values {
			d.Token.Values[i].Since = start.Add(time.Duration(hours) * time.Hour)
		}
	}
}

// base64Of returns the start of the base64 form of s, up to the last character that does not depend on the bytes that follow s. In the
// encoded text, s must start at a multiple of three bytes.
func base64Of(s string) string {
	encoded := base64.RawURLEncoding.EncodeToString([]byte(s))
	return encoded[:len(encoded)/4*4-4]
}

func containsFold(s, sub string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(sub))
}

func sortIDs(ids []int64) { slices.Sort(ids) }
