"""What Schemathesis has to know of the server and OpenAPI 3.0 cannot say."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(ctx, value):
    """A stream is sent as it is."""
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.hook
def filter_case(context, case):
    """Leaves out requests that the server treats as documented and a schema cannot describe.

    A blank parameter counts as not sent, and so does a blank or null member of a new item. Two different tokens in one
    request are refused. A request that waits for a change takes as long as it says.
    """
    query, headers = case.query or {}, case.headers or {}
    if any(value in ("", []) or str(value).isspace() for value in query.values()):
        return False
    if case.operation.definition.raw.get("operationId") == "listChanges" and str(query.get("wait", 0)) not in ("0", "1"):
        return False
    if "access_token" in query and headers.get("Authorization", "") not in ("", f"Bearer {query['access_token']}"):
        return False
    return case.operation.definition.raw.get("operationId") != "addItem" or not has_blank(case.body)


def has_blank(value):
    if isinstance(value, dict):
        return any(has_blank(of) for of in value.values())
    if isinstance(value, list):
        return any(has_blank(of) for of in value)
    return value is None or isinstance(value, str) and not value.strip()


LANGUAGE = "queries and orders are texts in a language of their own, with the names of fields"
TAG = "the characters of a key depend on the namespace of the tag"
CURSOR = "a cursor belongs to one list, and only the server can create one"
KIND = "which members an item needs depends on its content_type"
BYTES = "a name is limited in bytes, and maxLength counts characters"
ETAGS = "a list of ETags has a syntax of its own (RFC 9110), in which quotes enclose each ETag"
CONDITIONS = {("invalid-header", "If-Match"): ETAGS, ("invalid-header", "If-None-Match"): ETAGS}

# The valid requests that the server may refuse: by operation, the last part of the type of the problem and the parameter or member that
# the problem names (of tags.hashtags[0], only tags), with the reason why the document does not exclude such a request.
REFUSALS = {
    "listItems": {
        ("syntax-error", "q"): LANGUAGE,
        ("syntax-error", "sort_by"): LANGUAGE,
        ("invalid-parameter", "favorite_tag"): TAG,
        ("cursor-unusable", "cursor"): CURSOR,
    },
    "listFilterItems": {
        ("syntax-error", "additional_query"): LANGUAGE,
        ("syntax-error", "sort_by"): LANGUAGE,
        ("invalid-parameter", "favorite_tag"): TAG,
        ("cursor-unusable", "cursor"): CURSOR,
    },
    "explainQuery": {("syntax-error", "q"): LANGUAGE},
    "explainFilter": {("syntax-error", "additional_query"): LANGUAGE},
    "exportItems": {("syntax-error", "q"): LANGUAGE},
    "countValues": {
        ("syntax-error", "q"): LANGUAGE,
        ("invalid-parameter", "field"): "which fields exist depends on the namespaces of the tags",
    },
    "listChanges": {("syntax-error", "q"): LANGUAGE, ("cursor-unusable", "since"): CURSOR},
    "compareQueries": {
        ("syntax-error", "q"): LANGUAGE,
        ("syntax-error", "sort_by"): LANGUAGE,
        ("invalid-parameter", "favorite_tag"): TAG,
        ("syntax-error", "from_q"): LANGUAGE,
        ("syntax-error", "from_sort_by"): LANGUAGE,
        ("invalid-parameter", "from_favorite_tag"): TAG,
    },
    "suggest": {("invalid-parameter", "position"): "the position depends on the length of q"},
    "refineQuery": {
        ("syntax-error", "q"): LANGUAGE,
        ("syntax-error", "field"): "the values that are valid depend on the field",
        ("missing-parameter", "field"): "the field is optional only beside clause",
        ("invalid-parameter", "field"): "which fields exist depends on the namespaces of the tags",
        ("invalid-parameter", "value"): "a tag needs a colon, and only one of value and a range is possible",
        ("invalid-parameter", "from"): "the values that are valid depend on the field",
    },
    "createFilter": {
        ("syntax-error", "q"): LANGUAGE,
        ("syntax-error", "sort_by"): LANGUAGE,
        ("unacceptable", "name"): BYTES,
    },
    "updateFilter": {
        ("syntax-error", "q"): LANGUAGE,
        ("syntax-error", "sort_by"): LANGUAGE,
        **CONDITIONS,
    },
    "deleteFilter": CONDITIONS,
    "patchItem": {
        ("unacceptable", "submission"): BYTES,
        ("unacceptable", "activate_units"): "the units must exist",
        ("unacceptable", "content"): "an item of the type text needs a text",
        **CONDITIONS,
    },
    "eraseItem": CONDITIONS,
    "listFilters": {("cursor-unusable", "cursor"): CURSOR},
    "listTagged": {("cursor-unusable", "cursor"): CURSOR},
    "listCollection": {
        ("cursor-unusable", "cursor"): CURSOR,
        ("invalid-parameter", "activate_unit_id"): "a pattern cannot limit the numbers of a list to 2^53-1",
    },
    "addItem": {
        ("unacceptable", "caption"): KIND,
        ("unacceptable", "content_url"): KIND,
        ("unacceptable", "video_thumbnail"): KIND,
        ("unacceptable", "tags"): TAG,
        ("unacceptable", "submission"): BYTES,
    },
    "addTag": {
        ("unacceptable", "key"): TAG,
        ("unacceptable", "ugc_ids"): "the items must exist",
    },
}

# Whether a request with `sent` of `all` parameters keeps a rule of x-vitrine-parameter-rules.
RULES = {
    "at-least-one": lambda sent, all: sent >= 1,
    "at-most-one": lambda sent, all: sent <= 1,
    "exactly-one": lambda sent, all: sent == 1,
    "all-or-none": lambda sent, all: sent in (0, all),
}


@schemathesis.check
def accepts_what_the_document_allows(ctx, response, case):
    """Is stricter than positive_data_acceptance, which it replaces: of the valid requests, only those in REFUSALS may be refused, and a
    request that breaks a rule of x-vitrine-parameter-rules must not succeed.

    The document does not say which tokens and objects exist, what their ETags are, nor how many requests are too many.
    """
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code in (401, 403, 404, 405, 409, 412, 429):
        return
    operation = case.operation.definition.raw
    name, sent = operation["operationId"], case.query or {}
    broken = [
        of for of in operation.get("x-vitrine-parameter-rules", [])
        if not RULES[of["rule"]](sum(parameter in sent for parameter in of["parameters"]), len(of["parameters"]))
    ]
    if response.status_code < 400:
        assert not broken, f"the server accepts a request that breaks {broken}"
        return
    problem = response.json()
    about = (problem.get("parameter") or problem.get("member") or "").split(".")[0]
    if any(about in of["parameters"] for of in broken):
        return
    refusal = (problem["type"].rsplit("/", 1)[-1], about)
    assert refusal in REFUSALS.get(name, {}), f"{name} refuses a valid request: {refusal}: {problem.get('detail')}"
