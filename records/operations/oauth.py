"""The endpoints of OAuth 2: fetching a token, revoking one, and the metadata (RFC 6749, 7009, 8414)."""

import re
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from authlib.oauth2.rfc6749.errors import OAuth2Error
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from records.accounts import oauth
from records.operations import bodies, errors, limits

BODY_LIMIT = 64 * 1024
FORM = "application/x-www-form-urlencoded"
_PERCENT = re.compile(rb"%(?![0-9a-fA-F]{2})")
_UNSHOWN = re.compile(r"[^ !#-\[\]-~]")
"""Characters that an error_description must not contain."""
_ERRORS = {429: "temporarily_unavailable", 503: "temporarily_unavailable", 500: "server_error"}


def _error_response(status: int, code: str, description: str, headers: dict[str, str] | None = None) -> HttpResponse:
    """Return an error in the format of RFC 6749, 5.2; none of these responses may be cached."""
    response = JsonResponse({"error": code, "error_description": _UNSHOWN.sub("'", description)}, status=status)
    for name, value in {"Cache-Control": "no-store", "Pragma": "no-cache", **(headers or {})}.items():
        response[name] = value
    return response


def _form(request: HttpRequest) -> QueryDict:
    """Return the form body's fields; raises OAuth2Error if it is not a form or repeats a field."""
    kind = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if kind not in ("", FORM):
        raise OAuth2Error(f"Send the parameters as {FORM}.", error="invalid_request")
    bodies.check_encoding(request)
    raw = bytes(bodies.read(request, BODY_LIMIT))
    try:
        if _PERCENT.search(raw):
            raise ValueError
        form = QueryDict(raw, encoding="utf-8")
        unquote_to_bytes(raw).decode()
    except (ValueError, UnicodeError) as error:
        raise OAuth2Error("The body is not a form in UTF-8.", error="invalid_request") from error
    if any(len(values) > 1 for _, values in form.lists()):
        raise OAuth2Error("A parameter is given more than once.", error="invalid_request")
    return form


def _answer(request: HttpRequest, act: Callable[[oauth.FormRequest], HttpResponse], operation: str) -> HttpResponse:
    """Read the form, act, and turn every failure into an error of RFC 6749."""
    request.larder_operation = operation  # type: ignore[attr-defined]
    if request.method == "OPTIONS":
        return HttpResponse(status=204, headers={"Allow": "POST, OPTIONS"})
    if request.method != "POST":
        return _error_response(405, "invalid_request", "This path supports POST only.", {"Allow": "POST, OPTIONS"})
    try:
        form_request = oauth.FormRequest(_form(request), request.META.get("HTTP_AUTHORIZATION", ""))
        response = act(form_request)
        if form_request.client is not None:
            request.larder_caller = form_request.client.pk  # type: ignore[attr-defined]
        return response
    except OAuth2Error as error:
        return _oauth_error(error)
    except Exception as error:
        refusal = errors.refusal_of(error)
        if refusal.status == 500:
            errors.logger.error("Unhandled %s", type(error).__name__, exc_info=error)
        return _error_response(
            refusal.status, _ERRORS.get(refusal.status, "invalid_request"), refusal.message, refusal.headers
        )


def _oauth_error(error: OAuth2Error) -> HttpResponse:
    headers = {name: value for name, value in error.get_headers() if name == "WWW-Authenticate"}
    if headers:
        headers["WWW-Authenticate"] = 'Basic realm="Larder", charset="UTF-8"'
    return _error_response(error.status_code, error.error, error.get_error_description(), headers)


@csrf_exempt
def token(request: HttpRequest) -> HttpResponse:
    """Issue an access token to an authenticated client, for 30 minutes (RFC 6749, 4.4)."""
    return _answer(request, lambda form_request: _issue(request, form_request), "IssueToken")


def _issue(request: HttpRequest, form_request: oauth.FormRequest) -> HttpResponse:
    data = form_request.payload.data
    if not data.get("grant_type"):
        raise OAuth2Error("grant_type is required.", error="invalid_request")
    _prove(request, form_request)
    grant = oauth.server.get_token_grant(form_request)
    grant.validate_token_request()
    status, body, _ = grant.create_token_response()
    response = JsonResponse(body, status=status)
    response["Cache-Control"] = "no-store"
    response["Pragma"] = "no-cache"
    return response


@csrf_exempt
def revoke(request: HttpRequest) -> HttpResponse:
    """End one of the client's own tokens at once; an unknown token counts as ended (RFC 7009)."""
    return _answer(request, lambda form_request: _revoke(request, form_request), "RevokeToken")


def _revoke(request: HttpRequest, form_request: oauth.FormRequest) -> HttpResponse:
    _prove(request, form_request)
    endpoint = oauth.Revocation(oauth.server)
    endpoint.create_endpoint_response(form_request)
    response = HttpResponse(status=200)
    response["Cache-Control"] = "no-store"
    return response


def _prove(request: HttpRequest, form_request: oauth.FormRequest) -> None:
    """Authenticate the client, count its request, and count a wrong secret against the address."""
    try:
        client = oauth.server.authenticate_client(form_request, oauth.AUTH_METHODS)
    except oauth.WrongClientError:
        limits.note_wrong_credential(request)
        raise
    limits.spend("oauth", str(client.pk), settings.RATE_LIMIT)


@csrf_exempt
def metadata(request: HttpRequest) -> HttpResponse:
    """Return the metadata: where tokens are fetched and how (RFC 8414); needs no credential."""
    if request.method == "OPTIONS":
        return HttpResponse(status=204, headers={"Allow": "GET, HEAD, OPTIONS"})
    if request.method not in ("GET", "HEAD"):
        return _error_response(405, "invalid_request", "This path supports GET only.", {"Allow": "GET, HEAD, OPTIONS"})
    return JsonResponse(oauth.metadata(settings.BASE_URL))


urlpatterns = [
    path("token", token),
    path("token/", token),
    path("revoke", revoke),
    path("revoke/", revoke),
]
