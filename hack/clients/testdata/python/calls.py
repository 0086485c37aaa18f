"""Calls a server with the client that openapi-python-client generates."""

import json
import os
from io import BytesIO
from typing import TypeVar

from content_library_client import AuthenticatedClient
from content_library_client.api.deprecated import list_collection, show_item
from content_library_client.api.filters import create_filter, delete_filter, list_filter_items, list_filters, update_filter
from content_library_client.api.items import add_item, erase_item, explain_query, export_items, import_items, list_items, patch_item
from content_library_client.api.tags import add_tag, list_item_tags, list_tagged, remove_tag
from content_library_client.api.units import list_units, show_unit
from content_library_client.models import (
    Explained,
    Filter,
    FilterChange,
    FilterItems,
    FilterItemsEmbedded,
    FilterList,
    Item,
    ItemList,
    ItemPatch,
    ItemTags,
    ListFilterItemsInfo,
    NewFilter,
    NewItem,
    NewItemApprovalStatus,
    NewItemContentType,
    NewItemTags,
    NewTag,
    Problem,
    TaggedItems,
    TagMade,
    UnitList,
)
from content_library_client.types import File, Unset

FILTER_UUID = "6f1c0d5e-3b7a-4c1e-9a42-5d8f0b6c7e19"
UNIT_ID = 2582118650523114
LARGE_ID = 4503599627370497
PAGE_ID = 6062765657669468

T = TypeVar("T")
made = 0


def client(token: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=os.environ["VITRINE_SERVER"], token=os.environ[token])


def answered(kind: type[T], answer: object) -> T:
    """Returns the answer, which must be of the kind."""
    global made
    made += 1
    assert isinstance(answer, kind), answer
    return answer


def status(want: int, got: int) -> None:
    global made
    made += 1
    assert got == want, got


rw, ro = client("VITRINE_READ_WRITE"), client("VITRINE_READ_ONLY")

tags = NewItemTags()
tags["marketer_tags"] = ["lake"]
new = NewItem(
    content_type=NewItemContentType.IMAGE,
    content_url="https://img.example/lake.jpg",
    caption="At the lake",
    approval_status=NewItemApprovalStatus.APP,
    tags=tags,
)
added = answered(Item, add_item.sync(client=rw, body=new))
assert added.id == LARGE_ID + 1, added.id
assert added.content.text == "At the lake", added.content
assert added.content["platform_ref:direct"], added.content

items = answered(ItemList, list_items.sync(client=ro, q="campaign:12", page_size=3))
assert items.total_results == 25 and len(items.field_embedded.ugcitem) == 3, items
assert items.field_embedded.ugcitem[0].content.author.id == 17841400008460056, items

first = answered(ItemList, list_items.sync(client=ro, q="campaign:12", sort_by="random", seed=123456789))
again = answered(ItemList, list_items.sync(client=ro, q="campaign:12", sort_by="random", seed=123456789))
assert first == again and "seed=123456789" in first.field_links.self_.href, first.field_links

assert answered(Problem, list_items.sync(client=ro, q="(beach")).position == 6

created = answered(Filter, create_filter.sync(client=rw, body=NewFilter(q="campaign:13", sort_by="id:asc", name="Large ids")))
assert created.platform_page_id == PAGE_ID and created.is_editable, created
own = str(created.filter_uuid)

page = answered(FilterItems, list_filter_items.sync(own, client=rw))
embedded = answered(FilterItemsEmbedded, page.field_embedded)
assert [i.id for i in embedded.ugcitem] == [16777217, 5000000001, LARGE_ID], embedded

info = answered(FilterItems, list_filter_items.sync(FILTER_UUID, client=ro, info=ListFilterItemsInfo.VALUE_1))
assert info.total_results == 25 and info.platform_page_id == PAGE_ID, info
assert info.managed_by == "ContentFilter shop/summer-wall" and isinstance(info.query, Unset), info

filters = answered(FilterList, list_filters.sync(client=rw))
assert [f.id for f in filters.field_embeded] == [created.id, 5823445520123], filters
status(204, update_filter.sync_detailed(client=rw, filter_id=own, body=FilterChange(q="campaign:12", sort_by="random")).status_code)

tag = answered(TagMade, add_tag.sync(client=rw, body=NewTag(ugc_ids=[100001, LARGE_ID], namespace="marketer_tags", key="summer")))
assert tag.ugc_ids == [100001, LARGE_ID], tag
unknown = answered(Problem, add_tag.sync(client=rw, body=NewTag(ugc_ids=[LARGE_ID + 99], namespace="marketer_tags", key="summer")))
assert unknown.unknown_ids == [LARGE_ID + 99], unknown
assert answered(TaggedItems, list_tagged.sync("marketer_tags", "summer", client=ro)).total_results == 2
assert answered(ItemTags, list_item_tags.sync(LARGE_ID, client=ro)).total_results == 3
status(204, remove_tag.sync_detailed("marketer_tags", "summer", LARGE_ID, client=rw).status_code)

lines = (
    b'{"id":6000000001,"content":{"content_type":"text","text":"one"}}\n{"content_type":"text"}\n'
    b'{"id":6000000003,"content":{"content_type":"text","text":"three"}}\n'
)
# The tool does not support NDJSON: the responses are bytes.
imported = import_items.sync_detailed(client=rw, body=File(BytesIO(lines)))
status(200, imported.status_code)
assert [json.loads(line)["status"] for line in imported.content.splitlines()] == [201, 422, 201], imported.content
exported = export_items.sync_detailed(client=rw, q="campaign:12")
status(200, exported.status_code)
assert len(exported.content.splitlines()) == 25, exported.content

explained = answered(Explained, explain_query.sync(client=rw, q="beach AND -sunset", ugc_id=LARGE_ID))
assert explained.ugc_id == LARGE_ID and explained.matched and len(explained.explanation.children) == 2, explained

patched = answered(Item, patch_item.sync(LARGE_ID, client=rw, body=ItemPatch(activate_units=[UNIT_ID])))
assert [(u.id, u.external_id) for u in patched.activate_units] == [(UNIT_ID, "SKU-1")], patched.activate_units
assert not isinstance(patched.last_modified, Unset) and patched.last_modified > patched.created_on, patched

units = answered(UnitList, list_units.sync(client=ro))
assert units.field_embedded.activate_unititem[0].id == UNIT_ID, units
shown = show_unit.sync(UNIT_ID, client=ro)
assert isinstance(shown, list) and shown[0].name == "Shop the sandals", shown

for number in (16777217, 5000000001, LARGE_ID):
    item = answered(Item, show_item.sync(number, client=ro))
    assert item.id == number and isinstance(item.submission, Unset) and isinstance(item.last_modified, Unset), item
assert len(answered(ItemList, list_collection.sync(12, client=ro)).field_embedded.ugcitem) == 8

status(204, erase_item.sync_detailed(added.id, client=rw).status_code)
status(204, delete_filter.sync_detailed(own, client=rw).status_code)
assert answered(Problem, delete_filter.sync(FILTER_UUID, client=rw)).type_.endswith("/managed")
print(made, "answers are right")
