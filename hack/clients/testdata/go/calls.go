// Calls a server with the client that oapi-codegen generates into this package.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
)

const (
	filterUUID = "6f1c0d5e-3b7a-4c1e-9a42-5d8f0b6c7e19"
	unitID     = 2582118650523114
	largeID    = 4503599627370497
	pageID     = 6062765657669468
)

var made int // number of calls

// check ends the program at the first wrong response.
func check(what string, ok bool, got any) {
	made++
	if !ok {
		log.Fatalf("%s: %+v", what, got)
	}
}

func need[T any](answer T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return answer
}

func client(token string) *ClientWithResponses {
	return need(NewClientWithResponses(os.Getenv("VITRINE_SERVER"), WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv(token))
		return nil
	})))
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	rw, ro := client("VITRINE_READ_WRITE"), client("VITRINE_READ_ONLY")
	approved, now := NewItemApprovalStatusApp, "At the lake"
	url := "https://img.example/lake.jpg"

	added := need(rw.AddItemWithResponse(ctx, NewItem{
		ContentType: NewItemContentTypeImage, ContentUrl: &url, Caption: &now, ApprovalStatus: &approved,
		Tags: &map[string][]string{"marketer_tags": {"lake"}},
	}))
	check("add an item", added.JSON201 != nil && added.JSON201.Id == largeID+1 && added.JSON201.Content.Text == now, string(added.Body))
	check("the platform's reference", added.JSON201.Content.AdditionalProperties["platform_ref:direct"] != "", added.JSON201.Content.AdditionalProperties)

	three := 3
	list := need(ro.ListItemsWithResponse(ctx, &ListItemsParams{Q: "campaign:12", PageSize: &three}))
	check("list items", list.JSON200 != nil && list.JSON200.TotalResults == 25 && len(list.JSON200.UnderscoreEmbedded.UgcItem) == 3, string(list.Body))
	check("the author's id", list.JSON200.UnderscoreEmbedded.UgcItem[0].Content.Author.Id == 17841400008460056, list.JSON200)

	seed := Seed(123456789)
	random := Q("campaign:12")
	order := SortBy("random")
	first := need(ro.ListItemsWithResponse(ctx, &ListItemsParams{Q: random, SortBy: &order, Seed: &seed}))
	again := need(ro.ListItemsWithResponse(ctx, &ListItemsParams{Q: random, SortBy: &order, Seed: &seed}))
	check("a random order", first.JSON200 != nil && bytes.Equal(first.Body, again.Body) && strings.Contains(string(first.Body), "seed=123456789"), string(first.Body))

	broken := need(ro.ListItemsWithResponse(ctx, &ListItemsParams{Q: "(beach"}))
	check("a broken query", broken.ApplicationproblemJSON400 != nil && *broken.ApplicationproblemJSON400.Position == 6, string(broken.Body))

	filter := need(rw.CreateFilterWithResponse(ctx, NewFilter{Q: "campaign:13", SortBy: "id:asc", Name: "Large ids"}))
	check("create a filter", filter.JSON201 != nil && filter.JSON201.PlatformPageId == pageID && filter.JSON201.IsEditable, string(filter.Body))
	uuid := filter.JSON201.FilterUuid.String()

	items := need(rw.ListFilterItemsWithResponse(ctx, uuid, &ListFilterItemsParams{}))
	ids := []Id{}
	if items.JSON200 != nil && items.JSON200.UnderscoreEmbedded != nil {
		for _, item := range items.JSON200.UnderscoreEmbedded.UgcItem {
			ids = append(ids, item.Id)
		}
	}
	check("list a filter's items", slices.Equal(ids, []Id{16777217, 5000000001, largeID}), string(items.Body))

	yes := N1
	info := need(ro.ListFilterItemsWithResponse(ctx, filterUUID, &ListFilterItemsParams{Info: &yes}))
	check("describe a filter", info.JSON200 != nil && info.JSON200.TotalResults == 25 && *info.JSON200.PlatformPageId == pageID &&
		*info.JSON200.ManagedBy == "ContentFilter shop/summer-wall" && info.JSON200.Query == nil, string(info.Body))

	filters := need(rw.ListFiltersWithResponse(ctx, &ListFiltersParams{}))
	check("list filters", filters.JSON200 != nil && len(filters.JSON200.UnderscoreEmbeded) == 2 && filters.JSON200.UnderscoreEmbeded[0].Id == filter.JSON201.Id, string(filters.Body))

	changed := need(rw.UpdateFilterWithResponse(ctx, &UpdateFilterParams{FilterId: uuid}, FilterChange{Q: "campaign:12", SortBy: "random"}))
	check("change a filter", changed.StatusCode() == http.StatusNoContent, string(changed.Body))

	tag := need(rw.AddTagWithResponse(ctx, NewTag{UgcIds: []Id{100001, largeID}, Namespace: "marketer_tags", Key: "summer"}))
	check("tag items", tag.JSON201 != nil && slices.Equal(tag.JSON201.UgcIds, []Id{100001, largeID}), string(tag.Body))
	unknown := need(rw.AddTagWithResponse(ctx, NewTag{UgcIds: []Id{largeID + 99}, Namespace: "marketer_tags", Key: "summer"}))
	check("tag an unknown item", unknown.ApplicationproblemJSON422 != nil && slices.Equal(*unknown.ApplicationproblemJSON422.UnknownIds, []int64{largeID + 99}), string(unknown.Body))
	tagged := need(ro.ListTaggedWithResponse(ctx, "marketer_tags", "summer", &ListTaggedParams{}))
	check("list tagged items", tagged.JSON200 != nil && tagged.JSON200.TotalResults == 2, string(tagged.Body))
	tags := need(ro.ListItemTagsWithResponse(ctx, largeID))
	check("list the tags of an item", tags.JSON200 != nil && tags.JSON200.TotalResults == 3, string(tags.Body))
	untagged := need(rw.RemoveTagWithResponse(ctx, "marketer_tags", "summer", largeID))
	check("remove a tag", untagged.StatusCode() == http.StatusNoContent, string(untagged.Body))

	lines := `{"id":6000000001,"content":{"content_type":"text","text":"one"}}` + "\n" + `{"content_type":"text"}` + "\n" +
		`{"id":6000000003,"content":{"content_type":"text","text":"three"}}` + "\n"
	imported := need(rw.ImportItemsWithBodyWithResponse(ctx, &ImportItemsParams{}, "application/x-ndjson", strings.NewReader(lines)))
	var statuses []int
	for line := range strings.Lines(string(imported.Body)) {
		var answer struct{ Status int }
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			log.Fatal(err)
		}
		statuses = append(statuses, answer.Status)
	}
	check("import items", slices.Equal(statuses, []int{201, 422, 201}), string(imported.Body))

	query := "campaign:12"
	exported := need(rw.ExportItemsWithResponse(ctx, &ExportItemsParams{Q: &query}))
	check("export items", exported.StatusCode() == http.StatusOK && bytes.Count(exported.Body, []byte("\n")) == 25, string(exported.Body))

	explained := need(rw.ExplainQueryWithResponse(ctx, &ExplainQueryParams{Q: "beach AND -sunset", UgcId: largeID}))
	check("explain a query", explained.JSON200 != nil && explained.JSON200.UgcId == largeID && explained.JSON200.Matched &&
		len(explained.JSON200.Explanation.Children) == 2, string(explained.Body))

	seen := need(rw.GetItemWithResponse(ctx, largeID))
	state := &PatchItemParams{IfMatch: new(seen.HTTPResponse.Header.Get("ETag"))}
	patched := need(rw.PatchItemWithResponse(ctx, largeID, state, ItemPatch{ActivateUnits: &[]Id{unitID}}))
	check("attach a unit", patched.JSON200 != nil && len(patched.JSON200.ActivateUnits) == 1 && patched.JSON200.ActivateUnits[0].Id == unitID &&
		*patched.JSON200.ActivateUnits[0].ExternalId == "SKU-1" && *patched.JSON200.LastModified > patched.JSON200.CreatedOn, string(patched.Body))
	outdated := need(rw.PatchItemWithResponse(ctx, largeID, state, ItemPatch{}))
	check("change an item that has changed", outdated.ApplicationproblemJSON412 != nil, string(outdated.Body))

	units := need(ro.ListUnitsWithResponse(ctx))
	check("list units", units.JSON200 != nil && units.JSON200.UnderscoreEmbedded.ActivateUnitItem[0].Id == unitID, string(units.Body))
	unit := need(ro.ShowUnitWithResponse(ctx, unitID))
	check("show a unit", unit.JSON200 != nil && (*unit.JSON200)[0].Name == "Shop the sandals", string(unit.Body))

	for _, id := range []Id{16777217, 5000000001, largeID} {
		shown := need(ro.ShowItemWithResponse(ctx, id))
		check("show an item", shown.JSON200 != nil && shown.JSON200.Id == id && shown.JSON200.Submission == nil &&
			shown.JSON200.LastModified == nil, string(shown.Body))
	}
	collection := need(ro.ListCollectionWithResponse(ctx, 12, &ListCollectionParams{}))
	check("list a collection", collection.JSON200 != nil && len(collection.JSON200.UnderscoreEmbedded.UgcItem) == 8, string(collection.Body))

	erased := need(rw.EraseItemWithResponse(ctx, added.JSON201.Id, &EraseItemParams{}))
	check("erase an item", erased.StatusCode() == http.StatusNoContent, string(erased.Body))
	deleted := need(rw.DeleteFilterWithResponse(ctx, uuid, &DeleteFilterParams{}))
	check("delete a filter", deleted.StatusCode() == http.StatusNoContent, string(deleted.Body))
	refused := need(rw.DeleteFilterWithResponse(ctx, filterUUID, &DeleteFilterParams{}))
	check("delete a declared filter", refused.ApplicationproblemJSON403 != nil && strings.HasSuffix(refused.ApplicationproblemJSON403.Type, "/managed"), string(refused.Body))
	fmt.Println(made, "answers are right")
}
