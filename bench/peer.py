"""The peer: FastAPI and SQLAlchemy, which look up a key and read a record in two queries (`requirements.txt`)."""

import hmac
import json
import os
import uuid
from typing import Annotated, Any

from fastapi import FastAPI, Header, HTTPException
from sqlalchemy import MetaData, Table, create_engine, select

# Without a transaction around them, the two queries are all that is sent, and psycopg keeps them prepared. The pool has
# up to fifteen connections, so that no thread waits for one.
engine = create_engine(
    os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://", 1), isolation_level="AUTOCOMMIT"
)
keys = Table("accounts_subscriptionkey", MetaData(), autoload_with=engine, resolve_fks=False)
tables = {
    name: Table(table, MetaData(), autoload_with=engine, resolve_fks=False)
    for name, table in json.loads(os.environ["PEER_TABLES"]).items()
}
pepper = os.environ["PEER_PEPPER"].encode()
app = FastAPI()


@app.get("/{name}/{key}")
def read(name: str, key: uuid.UUID, ocp_apim_subscription_key: Annotated[str, Header()]) -> dict[str, Any]:
    """Answer the record to a caller whose key is there and not revoked."""
    digest = hmac.digest(pepper, ocp_apim_subscription_key.encode(), "sha256").hex()
    with engine.connect() as connection:
        caller = connection.execute(select(keys.c.user_id, keys.c.revoked).where(keys.c.digest == digest)).first()
        if caller is None or caller.revoked:
            raise HTTPException(401)
        row = connection.execute(select(tables[name]).where(tables[name].c.id == key)).mappings().first()
    if row is None:
        raise HTTPException(404)
    return dict(row)
