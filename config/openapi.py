"""The settings of drf-spectacular, which writes docs/openapi.yaml and serves the pages that show it."""

SPECTACULAR_SETTINGS: dict[str, object] = {
    "TITLE": "Larder",
    "DESCRIPTION": "Quality and food-safety records. Every call carries `Ocp-Apim-Subscription-Key`; paths are taken "
    "with and without a trailing slash. A body may repeat the read-only fields of a record that was read: they are "
    "ignored. Any other unknown field or query parameter is refused. Every answer carries `X-Request-Id` and "
    "`X-Api-Version`, and those to a valid key `X-RateLimit-Limit`, `-Remaining` and `-Reset`.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "PREPROCESSING_HOOKS": ["records.operations.schema.paths_of_operations"],
    "POSTPROCESSING_HOOKS": [
        "records.operations.schema.whole_shapes",
        "records.webhooks.openapi.describe",
        "records.operations.published.publish",
    ],
    "LICENSE": {"name": "Apache License 2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}
