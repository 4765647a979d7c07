"""The part of the OpenAPI document about webhooks: what a receiver gets, and what it answers."""

from typing import Any

from records.changes.examples import GET_CHANGE_LIST

DESCRIPTION = """Larder sends each change of a site to the addresses that its Site Administrators have entered, in the
order of the feed, one change a message, at least once. `data` is the row as `GetChangeList` gives it to a Reader.
Messages are signed as Standard Webhooks 1.0 says; check the signature before you read the body. A message that comes
again carries the same `webhook-id`."""


def describe(result: dict[str, object], **kwargs: object) -> dict[str, object]:
    """Add the messages of webhooks to the document (a hook); OpenAPI 3.0 has no `webhooks` of its own."""
    row = GET_CHANGE_LIST[0].answer[0]
    example = {"type": f"{row['Entity']}.{row['Operation']}", "timestamp": row["Date"], "data": row}
    message = {
        "type": "object",
        "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {"type": "string", "description": "Kind of record and operation, such as `Item.AddItem`."},
            "timestamp": {"type": "string", "format": "date-time", "description": "When the change was made."},
            "data": {"$ref": "#/components/schemas/ChangeShape"},
        },
    }
    result["x-webhooks"] = {
        "change": {
            "post": {
                "operationId": "SendChange",
                "summary": "A change of a record",
                "description": " ".join(DESCRIPTION.split()),
                "tags": ["change"],
                "security": [],  # The signature is in the headers; there is no credential.
                "parameters": [
                    _header("webhook-id", "string", "The message's id: the same each time it is sent."),
                    _header("webhook-timestamp", "integer", "When the attempt was made, in seconds since 1970."),
                    _header("webhook-signature", "string", "One or two signatures, such as `v1,g0hM…`, with a blank."),
                ],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": message, "example": example}},
                },
                "responses": {
                    "2XX": {"description": "The message was accepted. The next message is sent."},
                    "410": {"description": "The receiver wants no more messages: the webhook is paused."},
                    "default": {"description": "The message is sent again later, for three days."},
                },
            }
        }
    }
    return result


def _header(name: str, kind: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": kind}}
