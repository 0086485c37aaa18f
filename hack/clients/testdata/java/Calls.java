import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.DeprecatedApi;
import org.openapitools.client.api.FiltersApi;
import org.openapitools.client.api.ItemsApi;
import org.openapitools.client.api.TagsApi;
import org.openapitools.client.api.UnitsApi;
import org.openapitools.client.model.BulkAnswer;
import org.openapitools.client.model.Explained;
import org.openapitools.client.model.Filter;
import org.openapitools.client.model.FilterChange;
import org.openapitools.client.model.FilterItems;
import org.openapitools.client.model.Item;
import org.openapitools.client.model.ItemList;
import org.openapitools.client.model.ItemPatch;
import org.openapitools.client.model.NewFilter;
import org.openapitools.client.model.NewItem;
import org.openapitools.client.model.NewTag;
import org.openapitools.client.model.Problem;
import org.openapitools.client.model.Unit;

/** Calls a server with the client that openapi-generator generates. */
public final class Calls {
    private static final String FILTER_UUID = "6f1c0d5e-3b7a-4c1e-9a42-5d8f0b6c7e19";
    private static final long UNIT_ID = 2582118650523114L;
    private static final long LARGE_ID = 4503599627370497L;
    private static final long PAGE_ID = 6062765657669468L;

    private static int made = 0;

    private interface Call {
        Object make() throws ApiException;
    }

    /** Ends the program at the first answer that is wrong. */
    private static void check(String what, boolean ok, Object got) {
        made++;
        if (!ok) {
            throw new IllegalStateException(what + ": " + got);
        }
    }

    /** Returns the problem that a call is answered with, of the status. */
    private static Problem problem(int status, Call call) throws IOException {
        try {
            throw new IllegalStateException("not refused: " + call.make());
        } catch (ApiException e) {
            check("the status of a problem", e.getCode() == status, e);
            return Problem.fromJson(e.getResponseBody());
        }
    }

    private static ApiClient client(String token) {
        ApiClient client = new ApiClient();
        client.setBasePath(System.getenv("VITRINE_SERVER"));
        client.setBearerToken(System.getenv(token));
        return client;
    }

    public static void main(String[] args) throws ApiException, IOException {
        ApiClient rw = client("VITRINE_READ_WRITE");
        ApiClient ro = client("VITRINE_READ_ONLY");
        ItemsApi items = new ItemsApi(rw);
        ItemsApi publicItems = new ItemsApi(ro);
        FiltersApi filters = new FiltersApi(rw);
        FiltersApi publicFilters = new FiltersApi(ro);
        TagsApi tags = new TagsApi(rw);

        Item added = items.addItem(new NewItem()
            .contentType(NewItem.ContentTypeEnum.IMAGE)
            .contentUrl(java.net.URI.create("https://img.example/lake.jpg"))
            .caption("At the lake")
            .approvalStatus(NewItem.ApprovalStatusEnum.APP)
            .tags(Map.of("marketer_tags", List.of("lake"))));
        check("add an item", added.getId() == LARGE_ID + 1 && added.getContent().getText().equals("At the lake"), added);
        check("the platform's reference", added.getContent().getAdditionalProperty("platform_ref:direct") instanceof String, added);

        ItemList list = publicItems.listItems("campaign:12", null, 3, null, null, null, null);
        check("list items", list.getTotalResults() == 25 && list.getEmbedded().getUgcItem().size() == 3, list);
        check("the author's id", list.getEmbedded().getUgcItem().get(0).getContent().getAuthor().getId() == 17841400008460056L, list);

        ItemList first = publicItems.listItems("campaign:12", null, null, "random", null, 123456789.0, null);
        ItemList again = publicItems.listItems("campaign:12", null, null, "random", null, 123456789.0, null);
        check("a random order", first.equals(again), first.getLinks());

        check("a broken query", problem(400, () -> publicItems.listItems("(beach", null, null, null, null, null, null)).getPosition() == 6, "position");

        Filter filter = filters.createFilter(new NewFilter().q("campaign:13").sortBy("id:asc").name("Large ids"));
        check("create a filter", filter.getPlatformPageId() == PAGE_ID && filter.getIsEditable(), filter);
        String uuid = filter.getFilterUuid().toString();

        FilterItems page = filters.listFilterItems(uuid, null, null, null, null, null, null, null, null);
        List<Long> ids = new ArrayList<>();
        page.getEmbedded().getUgcItem().forEach(item -> ids.add(item.getId()));
        check("list a filter's items", ids.equals(List.of(16777217L, 5000000001L, LARGE_ID)), page);

        FilterItems info = publicFilters.listFilterItems(FILTER_UUID, null, null, 1, null, null, null, null, null);
        check("describe a filter", info.getTotalResults() == 25 && info.getPlatformPageId() == PAGE_ID
            && info.getManagedBy().equals("ContentFilter shop/summer-wall") && info.getQuery() == null, info);

        check("list filters", filters.listFilters(null, null, null).getEmbeded().get(0).getId().equals(filter.getId()), filter);
        filters.updateFilter(uuid, new FilterChange().q("campaign:12").sortBy("random"), null, null, null);
        check("change a filter", filters.listFilterItems(uuid, null, null, 1, null, null, null, null, null).getSortBy().equals("random"), filter);

        check("tag items", tags.addTag(new NewTag().ugcIds(List.of(100001L, LARGE_ID)).namespace("marketer_tags").key("summer"))
            .getUgcIds().equals(List.of(100001L, LARGE_ID)), "ids");
        check("tag an unknown item", problem(422, () -> tags.addTag(new NewTag().ugcIds(List.of(LARGE_ID + 99)).namespace("marketer_tags").key("summer")))
            .getUnknownIds().equals(List.of(LARGE_ID + 99)), "unknown ids");
        check("list tagged items", new TagsApi(ro).listTagged("marketer_tags", "summer", null, null, null).getTotalResults() == 2, "total");
        check("list the tags of an item", new TagsApi(ro).listItemTags(LARGE_ID).getTotalResults() == 3, "total");
        tags.removeTag("marketer_tags", "summer", LARGE_ID);
        check("remove a tag", tags.listItemTags(LARGE_ID).getTotalResults() == 2, "total");

        File lines = File.createTempFile("items", ".ndjson");
        lines.deleteOnExit();
        Files.write(lines.toPath(), List.of(
            "{\"id\":6000000001,\"content\":{\"content_type\":\"text\",\"text\":\"one\"}}",
            "{\"content_type\":\"text\"}",
            "{\"id\":6000000003,\"content\":{\"content_type\":\"text\",\"text\":\"three\"}}"));
        List<Integer> statuses = new ArrayList<>();
        for (String line : Files.readAllLines(items.importItems(null, lines).toPath())) {
            statuses.add(BulkAnswer.fromJson(line).getStatus());
        }
        check("import items", statuses.equals(List.of(201, 422, 201)), statuses);

        List<String> exported = Files.readAllLines(items.exportItems("campaign:12").toPath());
        check("export items", exported.size() == 25, exported);

        Explained explained = items.explainQuery("beach AND -sunset", LARGE_ID);
        check("explain a query", explained.getUgcId() == LARGE_ID && explained.getMatched() && explained.getExplanation().getChildren().size() == 2, explained);

        Item patched = items.patchItem(LARGE_ID, new ItemPatch().activateUnits(List.of(UNIT_ID)), null, null, null);
        check("attach a unit", patched.getActivateUnits().size() == 1 && patched.getActivateUnits().get(0).getId() == UNIT_ID
            && patched.getActivateUnits().get(0).getExternalId().equals("SKU-1") && patched.getLastModified().compareTo(patched.getCreatedOn()) > 0, patched);

        UnitsApi units = new UnitsApi(ro);
        check("list units", units.listUnits().getEmbedded().getActivateUnitItem().get(0).getId() == UNIT_ID, "id");
        List<Unit> unit = units.showUnit(UNIT_ID);
        check("show a unit", unit.size() == 1 && unit.get(0).getName().equals("Shop the sandals"), unit);

        DeprecatedApi deprecated = new DeprecatedApi(ro);
        for (long id : new long[] {16777217L, 5000000001L, LARGE_ID}) {
            Item shown = deprecated.showItem(id);
            check("show an item", shown.getId() == id && shown.getSubmission() == null && shown.getLastModified() == null, shown);
        }

        items.eraseItem(added.getId(), null, null);
        check("erase an item", problem(404, () -> deprecated.showItem(added.getId())).getTitle().equals("Not found"), "title");
        filters.deleteFilter(uuid, null, null, null);
        check("delete a declared filter", problem(403, () -> {
            filters.deleteFilter(FILTER_UUID, null, null, null);
            return null;
        }).getType().getPath().equals("/problems/managed"), "type");
        System.out.println(made + " answers are right");
        System.exit(0); // the client's threads would keep the process alive
    }
}
