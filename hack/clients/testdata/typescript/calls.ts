// Calls a server with openapi-fetch and the types that openapi-typescript generates.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const filterUUID = "6f1c0d5e-3b7a-4c1e-9a42-5d8f0b6c7e19";
const unitID = 2582118650523114;
const largeID = 4503599627370497;
const pageID = 6062765657669468;

function client(token: string) {
  const headers = { Authorization: `Bearer ${process.env[token]}` };
  return createClient<paths>({ baseUrl: process.env["VITRINE_SERVER"] ?? "", headers });
}
const rw = client("VITRINE_READ_WRITE");
const ro = client("VITRINE_READ_ONLY");

let made = 0;

// good returns the data of a response, which must not be an error.
async function good<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  made++;
  const { data, error, response } = await answer;
  assert.ok(response.ok && error === undefined, `${response.url}: ${response.status} ${JSON.stringify(error)}`);
  return data as T;
}

// bad returns the problem of a response, which must have the status.
async function bad(status: number, answer: Promise<{ error?: components["schemas"]["Problem"]; response: Response }>) {
  made++;
  const { error, response } = await answer;
  assert.equal(response.status, status);
  assert.ok(error);
  return error;
}

const newItem: components["schemas"]["NewItem"] = {
  content_type: "image", content_url: "https://img.example/lake.jpg", caption: "At the lake", approval_status: "app",
  tags: { marketer_tags: ["lake"] },
};
const added = await good(rw.POST("/v2/content/", { body: newItem }));
assert.equal(added.id, largeID + 1);
assert.equal(added.content.text, "At the lake");
assert.equal(typeof added.content["platform_ref:direct"], "string");

const list = await good(ro.GET("/v2/content/items", { params: { query: { q: "campaign:12", page_size: 3 } } }));
assert.equal(list.total_results, 25);
assert.equal(list._embedded["ugc:item"].length, 3);

const random = { params: { query: { q: "campaign:12", sort_by: "random", seed: 123456789 } } };
const first = await good(ro.GET("/v2/content/items", random));
assert.match(first._links.self.href, /seed=123456789/);
assert.deepEqual(await good(ro.GET("/v2/content/items", random)), first);

assert.equal((await bad(400, ro.GET("/v2/content/items", { params: { query: { q: "(beach" } } }))).position, 6);

const filter = await good(rw.POST("/v2/content/filters", { body: { q: "campaign:13", sort_by: "id:asc", name: "Large ids" } }));
assert.equal(filter.platform_page_id, pageID);
const own = { path: { filter_uuid: filter.filter_uuid } };

const items = await good(rw.GET("/v2/content/filters/{filter_uuid}", { params: own }));
assert.deepEqual(items._embedded?.["ugc:item"].map((i) => i.id), [16777217, 5000000001, largeID]);

const info = await good(ro.GET("/v2/content/filters/{filter_uuid}", { params: { path: { filter_uuid: filterUUID }, query: { info: 1 } } }));
assert.equal(info.total_results, 25);
assert.equal(info.platform_page_id, pageID);
assert.equal(info.managed_by, "ContentFilter shop/summer-wall");
assert.equal(info.query, undefined);

assert.equal((await good(rw.GET("/v2/content/filters")))._embeded[0]?.id, filter.id);
await good(rw.PUT("/v2/content/filters", { params: { query: { filter_id: String(filter.id) } }, body: { q: "campaign:12", sort_by: "random" } }));

const tag = { namespace: "marketer_tags", key: "summer" };
assert.deepEqual((await good(rw.POST("/v1/tags/", { body: { ...tag, ugc_ids: [100001, largeID] } }))).ugc_ids, [100001, largeID]);
assert.deepEqual((await bad(422, rw.POST("/v1/tags/", { body: { ...tag, ugc_ids: [largeID + 99] } }))).unknown_ids, [largeID + 99]);
assert.equal((await good(ro.GET("/v1/tags/{namespace}/{key}/", { params: { path: tag } }))).total_results, 2);
assert.equal((await good(ro.GET("/v1/tags/ugc/{ugc_id}/", { params: { path: { ugc_id: largeID } } }))).total_results, 3);
await good(rw.DELETE("/v1/tags/{namespace}/{key}/{ugc_id}", { params: { path: { ...tag, ugc_id: largeID } } }));

const lines = (text: string) => text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as unknown);
const imported = await good(rw.POST("/v2/content/bulk", {
  body: '{"id":6000000001,"content":{"content_type":"text","text":"one"}}\n{"content_type":"text"}\n' +
    '{"id":6000000003,"content":{"content_type":"text","text":"three"}}\n',
  bodySerializer: (body) => body, headers: { "Content-Type": "application/x-ndjson" }, parseAs: "text",
}));
const answers = lines(imported) as components["schemas"]["BulkAnswer"][];
assert.deepEqual(answers.map((a) => a.status), [201, 422, 201]);

const exported = await good(rw.GET("/v2/content/bulk", { params: { query: { q: "campaign:12" } }, parseAs: "text" }));
assert.equal(lines(exported).length, 25);

const explained = await good(rw.GET("/v2/content/items/explain", { params: { query: { q: "beach AND -sunset", ugc_id: largeID } } }));
assert.equal(explained.ugc_id, largeID);
assert.equal(explained.explanation.children.length, 2);

const patched = await good(rw.PATCH("/v2/content/{id}", { params: { path: { id: largeID } }, body: { activate_units: [unitID] } }));
assert.equal(patched?.activate_units[0]?.id, unitID);
assert.equal(patched?.activate_units[0]?.external_id, "SKU-1");

assert.equal((await good(ro.GET("/v1/activate_units/")))._embedded["activate_unit:item"][0]?.id, unitID);
assert.equal((await good(ro.GET("/v1/activate_units/{id}", { params: { path: { id: unitID } } })))[0]?.name, "Shop the sandals");

for (const id of [16777217, 5000000001, largeID]) {
  const shown = await good(ro.GET("/v1/ugc/{ugc_id}/", { params: { path: { ugc_id: id } } }));
  assert.equal(shown.id, id);
  assert.equal(shown.submission, undefined);
  assert.equal(shown.last_modified, undefined);
}
assert.equal((await good(ro.GET("/v1/ugc/collections/{collection_id}/", { params: { path: { collection_id: 12 } } })))._embedded["ugc:item"].length, 8);

await good(rw.DELETE("/v2/content/{id}", { params: { path: { id: added.id } } }));
await good(rw.DELETE("/v2/content/filters/{filter_uuid}", { params: own }));
const refused = await bad(403, rw.DELETE("/v2/content/filters/{filter_uuid}", { params: { path: { filter_uuid: filterUUID } } }));
assert.match(refused.type, /\/managed$/);
console.log(`${made} answers are right`);
