"""The peer of a page: FastAPI, asyncpg and orjson, which answer the documented list of materials in two queries.

It does what the interface documents ask of any product: the key, an access token of the same user, the documented query
parameters, times in the documented form, the total, the link to the next page, and the limit of requests.
"""

import hmac
import json
import os
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import asyncpg
import orjson
from fastapi import FastAPI, Header, HTTPException, Query, Response

CALLER = """
SELECT k.id, s.last - s.archived, s.archived
  FROM accounts_subscriptionkey k JOIN accounts_user u ON u.id = k.user_id AND u.is_active
  JOIN accounts_oauthclient o ON o.user_id = k.user_id AND o.revoked IS NULL
  JOIN accounts_accesstoken t ON t.client_id = o.id
  JOIN sites_sitesequence s ON s.site_id = $3 AND s.entity = 'material'
 WHERE k.digest = $1 AND k.revoked IS NULL AND (k.expires IS NULL OR k.expires > now())
   AND t.digest = $2 AND t.revoked IS NULL AND t.expires > now() AND t.scopes LIKE '%materials:read%'
   AND EXISTS (SELECT FROM accounts_rolemembership m JOIN accounts_role r ON r.id = m.role_id
                WHERE m.user_id = k.user_id AND r.site_id = $3)
"""
"""Which key it is, if key and token are valid and their account holds a role at the site, with the site's totals."""
COLUMNS: dict[str, str] = json.loads(os.environ["PEER_COLUMNS"])
"""The columns under their wire names."""
SELECTION: str = os.environ["PEER_SHOWN"]
"""What is selected: the columns under their wire names, times in the documented form."""
LIMIT = int(os.environ["RATE_LIMIT"])
pepper = os.environ["PEER_PEPPER"].encode()
calls_by_minute: dict[tuple[uuid.UUID, int], int] = defaultdict(int)
"""How many requests of each key there were in a minute."""
pool: Any = None


async def _prepare(connection: Any) -> None:
    """Let ids and lists pass as PostgreSQL writes them: with objects in between, a page takes longer."""
    await connection.set_type_codec("uuid", encoder=str, decoder=str, schema="pg_catalog", format="text")
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=orjson.Fragment, schema="pg_catalog")


@asynccontextmanager
async def _lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Keep a pool of connections, on which asyncpg prepares each statement once, while the process serves."""
    global pool
    # Without the pool's clean-up after each loan, the two queries are all that is sent.
    async with asyncpg.create_pool(
        os.environ["DATABASE_URL"], min_size=4, max_size=8, init=_prepare, reset=_keep
    ) as pool:
        yield


async def _keep(_: Any) -> None:
    """Leave a connection that is returned to the pool as it is."""


app = FastAPI(lifespan=_lifespan)


@app.get("/page")
async def page(
    ocp_apim_subscription_key: Annotated[str, Header()],
    authorization: Annotated[str, Header()],
    site_id: Annotated[uuid.UUID, Query(alias="siteId")],
    is_archived: Annotated[bool, Query(alias="isArchived")] = False,
    start: Annotated[int, Query(ge=0, alias="startIndex")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    sort: str = "siteSequenceId",
    order: Literal["asc", "desc"] = "asc",
) -> Response:
    """Answer a page of the site's materials to a caller whose key and token are valid there."""
    column = COLUMNS.get(sort)
    if column is None:
        raise HTTPException(400)
    key, token = _digest(ocp_apim_subscription_key), _digest(authorization.removeprefix("Bearer "))
    async with pool.acquire() as connection:
        caller = await connection.fetchrow(CALLER, key, token, site_id)
        if caller is None:
            raise HTTPException(401)
        key_id, active, archived = caller
        headers = _limit_headers(key_id)
        # PostgreSQL would plan a limit that is a parameter anew for each page, which doubles its time.
        rows = await connection.fetch(
            f"SELECT {SELECTION} FROM materials_material "  # noqa: S608
            f"WHERE site_id = $1 AND {'' if is_archived else 'NOT '}is_archived "
            f"ORDER BY {column} {order}, id {order} LIMIT {limit:d} OFFSET {start:d}",
            site_id,
        )
    total = archived if is_archived else active
    headers["X-Total-Count"] = str(total)
    if start + limit < total:
        query = f"siteId={site_id}&isArchived={is_archived}&limit={limit}&sort={sort}&order={order}"
        headers["Link"] = f'</page?{query}&startIndex={start + limit}>; rel="next"'
    return Response(orjson.dumps([dict(row) for row in rows]), headers=headers, media_type="application/json")


def _digest(secret: str) -> str:
    return hmac.digest(pepper, secret.encode(), "sha256").hex()


def _limit_headers(key_id: uuid.UUID) -> dict[str, str]:
    """Count a request of a key in this process; returns the headers that tell its limit. Raises the 429."""
    minute, second = divmod(int(time.time()), 60)
    number = calls_by_minute[key_id, minute] = calls_by_minute[key_id, minute] + 1
    if number > LIMIT:
        raise HTTPException(429, headers={"Retry-After": str(60 - second)})
    return {
        "X-RateLimit-Limit": str(LIMIT),
        "X-RateLimit-Remaining": str(LIMIT - number),
        "X-RateLimit-Reset": str(60 - second),
        "Cache-Control": "private, no-store",
    }
