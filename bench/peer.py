"""The peer: FastAPI and SQLAlchemy, which look up a key and read a record in two queries; dependency group `bench`."""

import hashlib
import json
import os
import uuid
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException
from sqlalchemy import MetaData, Table, create_engine, select
from sqlalchemy.orm import Session

engine = create_engine(os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://", 1))
keys = Table("accounts_subscriptionkey", MetaData(), autoload_with=engine, resolve_fks=False)
tables = {
    name: Table(table, MetaData(), autoload_with=engine, resolve_fks=False)
    for name, table in json.loads(os.environ["PEER_TABLES"]).items()
}
app = FastAPI()


def session() -> Any:
    """Yield the session of a request."""
    with Session(engine) as opened:
        yield opened


@app.get("/{name}/{key}")
def read(
    name: str,
    key: uuid.UUID,
    opened: Annotated[Session, Depends(session)],
    ocp_apim_subscription_key: Annotated[str, Header()],
) -> dict[str, Any]:
    """Answer the record of a caller whose key is there."""
    digest = hashlib.sha256(ocp_apim_subscription_key.encode()).hexdigest()
    opened.execute(select(keys.c.user_id, keys.c.revoked).where(keys.c.digest == digest)).first()
    row = opened.execute(select(tables[name]).where(tables[name].c.id == key)).mappings().first()
    if row is None:
        raise HTTPException(404)
    return dict(row)
