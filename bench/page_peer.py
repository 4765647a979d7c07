"""The peer of a page: FastAPI, asyncpg and orjson, which check a key and read a page in two queries."""

import hmac
import json
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import asyncpg
import orjson
from fastapi import FastAPI, Header, HTTPException, Query, Response

CALLER = """
SELECT k.user_id FROM accounts_subscriptionkey k JOIN accounts_user u ON u.id = k.user_id AND u.is_active
 WHERE k.digest = $1 AND k.revoked IS NULL AND (k.expires IS NULL OR k.expires > now())
   AND EXISTS (SELECT FROM accounts_rolemembership m JOIN accounts_role r ON r.id = m.role_id
                WHERE m.user_id = k.user_id AND r.site_id = $2)
"""
"""Whose the key is, if it is valid and its account holds a role at the site: nobody may read every site."""
PAGE: str = os.environ["PEER_PAGE"]
"""The statement of the rows in their order, with the columns under their wire names; $1 is the site."""
pepper = os.environ["PEER_PEPPER"].encode()
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
    site_id: Annotated[uuid.UUID, Query(alias="siteId")],
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Answer the first page of the site to a caller whose key is valid there."""
    digest = hmac.digest(pepper, ocp_apim_subscription_key.encode(), "sha256").hex()
    async with pool.acquire() as connection:
        if await connection.fetchrow(CALLER, digest, site_id) is None:
            raise HTTPException(401)
        # PostgreSQL would plan a limit that is a parameter anew for each page, which doubles its time.
        rows = await connection.fetch(f"{PAGE} LIMIT {limit:d}", site_id)
    return Response(orjson.dumps([dict(row) for row in rows]), media_type="application/json")
