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
    request are refused.
    """
    query, headers = case.query or {}, case.headers or {}
    if any(value in ("", []) or str(value).isspace() for value in query.values()):
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


# Why the server refuses requests that the schemas allow: by operation, the last part of the type of the problem, and the parameter or
# member that it names.
REFUSALS = {
}

# Whether a request with `sent` of `all` parameters keeps a rule of x-vitrine-parameter-rules.
RULES = {
    "at-least-one": lambda sent, all: sent >= 1,
    "at-most-one": lambda sent, all: sent <= 1,
    "all-or-none": lambda sent, all: sent in (0, all),
}


@schemathesis.check
def accepts_what_the_document_allows(ctx, response, case):
    """Is stricter than positive_data_acceptance, which it replaces: it allows only the refusals above, and no request that breaks a
    rule of x-vitrine-parameter-rules may succeed.

    Whether a token is known and an object exists is no part of the document: 401, 403, 404, 409 and 429 are never an error here.
    """
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code in (401, 403, 404, 405, 409, 429):
        return
    operation = case.operation.definition.raw
    keeps = all(
        RULES[of["rule"]](sum(name in (case.query or {}) for name in of["parameters"]), len(of["parameters"]))
        for of in operation.get("x-vitrine-parameter-rules", [])
    )
    if response.status_code < 400:
        assert keeps, "the request breaks a rule of x-vitrine-parameter-rules, and the server accepts it"
        return
    problem = response.json()
    refusal = (problem["type"].rsplit("/")[-1], problem.get("parameter") or problem.get("member"))
    assert not keeps or refusal in REFUSALS.get(operation["operationId"], {}), f"REFUSED {operation['operationId']} {refusal}: {problem.get('detail')}"
