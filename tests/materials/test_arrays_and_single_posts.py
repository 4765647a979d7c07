"""An array of materials does what its rows do one by one, and a check of it says the same and stores nothing."""

import uuid
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from records.history.models import Change
from records.history.verification import verify
from records.sites.models import Site
from tests.make.materials import MaterialApi, make_api, make_material

QUIET = hypothesis_settings(
    max_examples=30, deadline=None, database=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False
)
FIRST, SECOND = "the Id of the first material", "the Id of the second material"
VALUES: dict[str, tuple[Any, ...]] = {
    "externalId": ("", "A", "a", "B", "C", "A ", FIRST, SECOND, None, 5),
    "name": ("x", "x", "y", "", None),
    "Id": (FIRST, SECOND, str(uuid.UUID(int=5)), "5", None, ""),
    "isArchived": (True, False, None, "true"),
    "risk": ("low", "High", "", None, "Odd"),
    "countryOfOrigin": ([], ["NZ"], ["NZ", "NZ"], None, "NZ"),
    "reasonForChange": ("Because", "", "x" * 1001),
    "materialCategoryId": (None, "", str(uuid.UUID(int=6))),
    "nmae": (1,),
}
"""Values of a row, right and wrong."""

values = st.fixed_dictionaries(
    {name: st.sampled_from(VALUES[name]) for name in ("externalId", "name")},
    optional={name: st.sampled_from(given_) for name, given_ in VALUES.items() if name not in ("externalId", "name")},
)
rows: st.SearchStrategy[list[Any]] = st.lists(values | values | st.sampled_from([5, None, [], {}]), max_size=6)


def without_stamps(material: dict[str, Any]) -> dict[str, Any]:
    """Return what is the same of a material at both sites."""
    differ = ("Id", "created", "lastModified", "createdBy", "lastModifiedBy")
    return {name: value for name, value in material.items() if name not in differ}


def everything(api: MaterialApi) -> list[dict[str, Any]]:
    """Return all materials of the client's site."""
    materials: list[dict[str, Any]] = api.get(api.at(isArchived="any", limit=1000)).json()
    return materials


def at_site(row: Any, keys: list[str]) -> Any:
    """Return a row with the Ids of the client's site."""
    ids = {FIRST: keys[0], SECOND: keys[1]}
    return {name: ids.get(str(value), value) for name, value in row.items()} if isinstance(row, dict) else row


def test_an_array_does_what_its_rows_do_one_by_one(site: Site, other_site: Site, settings: Any) -> None:
    settings.RATE_LIMIT = 1_000_000
    together, single = make_api(site), make_api(other_site)
    clients = (together, single)
    keys = {
        api: [
            str(make_material(api.site, external_id=text, name=text, is_archived=text == "B").pk) for text in ("A", "B")
        ]
        for api in clients
    }

    @QUIET
    @given(array_rows=rows)
    def send(array_rows: list[Any]) -> None:
        array = [at_site(row, keys[together]) for row in array_rows]
        before = everything(together), Change.objects.count()
        check = together.post(f"{together.at()}&validateOnly=true", array)
        assert (everything(together), Change.objects.count()) == before
        answer = together.upsert(array)
        assert check.status_code == answer.status_code == 200, answer.content
        for checked_row, line in zip(check.json(), answer.json(), strict=True):
            assert checked_row["Message"].replace("Valid.", "Success.") == line["Message"]
            assert {**checked_row, "Message": "", "Id": ""} == {**line, "Message": "", "Id": ""}
        for row, line in zip(array_rows, answer.json(), strict=True):
            if not isinstance(row, dict):
                assert line["Outcome"] == "Refused"
                continue
            changes = Change.objects.count()
            one = single.upsert(at_site(row, keys[single]))
            assert (one.status_code == 200) == (line["Outcome"] != "Refused"), (row, line, one.content)
            assert one.json()["Error"] == line["Error"]
            assert one.json().get("Fields", []) == line["Fields"]
            assert line["Error"] or one.json()["Message"] == line["Message"]
            assert Change.objects.count() == changes + (line["Outcome"] in ("Added", "Changed"))
        assert [without_stamps(one) for one in everything(together)] == [
            {**without_stamps(one), "externalId": same_id(one["externalId"], keys, clients)}
            for one in everything(single)
        ]

    send()
    assert not verify().faults


def same_id(text: str, keys: dict[MaterialApi, list[str]], clients: tuple[MaterialApi, MaterialApi]) -> str:
    """Return an external id of the second site as it is at the first."""
    together, single = clients
    return dict(zip(keys[single], keys[together], strict=True)).get(text, text)
