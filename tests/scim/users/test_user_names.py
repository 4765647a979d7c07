"""User names that look like one another (DECISIONS 13.15)."""

import unicodedata
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import connection

from records.accounts.actions import add_user, update_user
from records.accounts.models import DefaultRole, User
from records.accounts.names import check_user_name, look_of
from records.sites.models import Site
from tests import make
from tests.scim import people
from tests.scim.conftest import Scim, assert_error

CYRILLIC_COCO = "\u0441\u043e\u0441\u043e"
ODD = {
    "zero width space": "admin\u200b",
    "zero width joiner": "ad\u200dmin",
    "soft hyphen": "ad\u00admin",
    "right-to-left override": "\u202eadmin",
    "word joiner": "admin\u2060",
    "byte order mark": "\ufeffadmin",
    "hangul filler": "admin\u3164",
    "variation selector": "admin\ufe0f",
    "combining grapheme joiner": "ad\u034fmin",
    "braille blank": "admin\u2800",
    "no-break space": "site\u00a0admin",
    "Cyrillic a": "\u0430dmin",
    "Greek o": "r\u03bfot",
    "Cyrillic in the second word": "site \u0430dmin",
    "Cyrillic and digits": "\u0430dmin1",
    "Armenian o": "r\u0585ot",
}
PLAIN = ["mira.novák", "müller", "Ивана", "иван.петров", "Νίκος", "山田たろう", "김철수", "o'brien", "ivan-иван", "a1"]


@pytest.mark.parametrize("name", ODD.values(), ids=ODD.keys())
def test_a_name_with_invisible_characters_or_mixed_scripts_is_400_through_provisioning(scim: Scim, name: str) -> None:
    assert_error(scim.post("/Users", people.user_body(name)), 400, "invalidValue")
    user = scim.add_user("plain@corp.local")
    rename = {"op": "replace", "path": "userName", "value": name}
    assert_error(scim.patch(f"/Users/{user['id']}", rename), 400, "invalidValue")
    assert_error(scim.put(f"/Users/{user['id']}", {**user, "userName": name}), 400, "invalidValue")
    assert scim.user(user["id"])["userName"] == "plain@corp.local"


@pytest.mark.parametrize("name", ["İbrahim@x.test", "GASSE", "gaße", "ΟΔΥΣΣΕΎΣ", "οδυσσεύς", "ǆemal", "ﬁona", "ŉoah"])
def test_a_name_or_address_is_found_as_it_was_sent_in_the_letters_of_every_language(both: Scim, name: str) -> None:
    address = f"{name.partition('@')[0]}@x.test" if name.isascii() else "İpek@x.test"
    user = both.add_user(name, emails=[{"value": address, "type": "work"}])
    group = both.add_group(name, user["id"])
    for form in (name, unicodedata.normalize("NFD", name), name.lower(), name.casefold()):
        for test in (f'eq "{form}"', f'sw "{form[:3]}"', f'co "{form[1:4]}"', f'ew "{form[-3:]}"'):
            assert both.ids("/Users", f"userName {test}") == [user["id"]], (form, test)
            assert both.ids("/Groups", f"displayName {test}") == [group["id"]], (form, test)
    for test in (f'emails eq "{address}"', f'emails[value eq "{address.lower()}"]', f'emails.value sw "{address[:3]}"'):
        assert both.ids("/Users", test) == [user["id"]], test
    path = f'emails[value eq "{address}"].display'
    after = both.apply(f"/Users/{user['id']}", {"op": "replace", "path": path, "value": "Shown"}).json()
    assert [one.get("display") for one in after["emails"]] == ["Shown"]
    assert_error(both.post("/Users", people.user_body(name.lower())), 409, "uniqueness")


@pytest.mark.parametrize("name", PLAIN)
def test_a_name_in_one_script_for_each_word_is_accepted(scim: Scim, name: str) -> None:
    assert scim.add_user(name)["userName"] == name


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("coco", CYRILLIC_COCO),
        (CYRILLIC_COCO, "COCO"),
        ("root", "\uff52\uff4f\uff4f\uff54"),
        ("maria", "m\u0251ria"),
        ("Gina", "\u0261ina"),
        ("v\u026ancent", "vincent"),
    ],
)
def test_a_name_that_looks_like_another_is_409(scim: Scim, first: str, second: str) -> None:
    scim.add_user(first)
    assert_error(scim.post("/Users", people.user_body(second)), 409, "uniqueness")
    user = scim.add_user("plain@corp.local")
    rename = {"op": "replace", "path": "userName", "value": second}
    assert_error(scim.patch(f"/Users/{user['id']}", rename), 409, "uniqueness")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("bill", "bi11"),
        ("o0", "oo"),
        ("modern", "modem"),
        ("Ion", "lon"),
        ("kjaer", "kj\u00e6r"),
        ("muller", "m\u00fcller"),
        ("lukasz", "\u0142ukasz"),
        ("aydin", "ayd\u0131n"),
    ],
)
def test_names_that_differ_by_ascii_look_alikes_or_by_letters_of_a_language_are_different_names(
    scim: Scim, first: str, second: str
) -> None:
    assert scim.add_user(first)["userName"] == first
    assert scim.add_user(second)["userName"] == second


def test_keys_of_looks_that_were_stored_before_are_computed_anew(scim: Scim, site: Site) -> None:
    names = {"m\u0251ria": "maria", "m\u00fcller": "m\u00fcller", "plain": "plain"}
    for name in names:
        make.make_user(name, site=site)
        User.objects.filter(user_name=name).update(user_name_look=name)
    former_user = make.make_user("\u0261ina", site=site)
    User.objects.filter(pk=former_user.pk).update(user_name_key=None, user_name_look=None)
    migration = import_module("records.accounts.migrations.0016_recompute_user_name_looks")
    migration.recompute(apps, SimpleNamespace(connection=connection))
    assert dict(User.objects.filter(user_name__in=names).values_list("user_name", "user_name_look")) == names
    assert User.objects.get(pk=former_user.pk).user_name_look is None
    assert_error(scim.post("/Users", people.user_body("maria")), 409, "uniqueness")


def test_a_deleted_account_gives_its_look_back(scim: Scim) -> None:
    user = scim.add_user("coco")
    assert scim.delete(f"/Users/{user['id']}").status_code == 204
    scim.add_user(CYRILLIC_COCO)


def test_an_account_keeps_the_name_that_it_has_and_may_change_its_case(site: Site) -> None:
    user = make.make_user("coco", site=site)
    User.objects.filter(pk=user.pk).update(user_name="admin\u200b")
    check_user_name("admin\u200b", User.objects.get(pk=user.pk))
    other = make.make_user("mira", site=site)
    update_user(other, {"user_name": "Mira"}, author=make.author_of(make.make_user("root", is_superuser=True)))
    assert User.objects.get(pk=other.pk).user_name == "Mira"


@pytest.mark.parametrize("name", ["admin\u200b", "\u0430dmin", CYRILLIC_COCO])
def test_the_back_office_refuses_the_same_names(client: Any, site: Site, name: str) -> None:
    make.make_user("coco", site=site)
    client.force_login(make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR))
    count = User.objects.count()
    form = {"user_name": name, "given_name": "A", "family_name": "B", "display_name": "", "email": ""}
    answer = client.post("/admin/accounts/user/add/", form)
    assert answer.status_code == 200
    assert "errorlist" in answer.text
    assert User.objects.count() == count
    with pytest.raises(ValidationError):
        add_user(User(user_name=name, home_site=site), author=make.SYSTEM)


def test_the_key_of_a_long_name_fits_its_column() -> None:
    assert len(look_of("\ufdfa" * 255)) <= 1_020
