"""A passkey's answer confirms one act, even if it is sent twice at the same moment."""

import hashlib
import json
import threading
from functools import partial
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth as passkeys
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.test import Client
from django.urls import reverse
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData

from documents.models import Signature
from records.accounts.models import User
from records.sites.models import Site
from tests import make
from tests.make.backoffice import sign_in
from tests.make.documents import make_document, make_signer

HOST = hashlib.sha256(b"testserver").digest()
FLAGS = AuthenticatorData.FLAG
USER_FLAGS = FLAGS.UP | FLAGS.UV


class Passkey:
    """A device with one passkey of an account."""

    def __init__(self, user: User) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._id = b"passkey of a test"
        public = AttestedCredentialData.create(bytes(16), self._id, ES256.from_cryptography_key(self._key.public_key()))
        attestation = AttestationObject.create(
            "none", AuthenticatorData.create(HOST, USER_FLAGS | FLAGS.AT, 0, public), {}
        )
        credential = self._credential(
            clientDataJSON=self._client_data("create", ""), attestationObject=bytes(attestation)
        )
        Authenticator.objects.create(user=user, type="webauthn", data={"name": "Key", "credential": credential})

    def answer(self, challenge: str) -> str:
        """Return what the browser sends after the device was touched."""
        data, client_data = bytes(AuthenticatorData.create(HOST, USER_FLAGS, 1)), self._client_data("get", challenge)
        signature = self._key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(SHA256()))
        return json.dumps(self._credential(clientDataJSON=client_data, authenticatorData=data, signature=signature))

    def _credential(self, **response: bytes) -> dict[str, Any]:
        name, fields = websafe_encode(self._id), {key: websafe_encode(value) for key, value in response.items()}
        return {"id": name, "rawId": name, "type": "public-key", "response": fields}

    @staticmethod
    def _client_data(kind: str, challenge: str) -> bytes:
        values = {"type": f"webauthn.{kind}", "challenge": challenge, "origin": "https://testserver"}
        return json.dumps(values).encode()


@pytest.mark.django_db(transaction=True)
def test_one_answer_of_a_passkey_signs_one_version_of_two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    site: Site = make.make_site()
    signer = make_signer(site)
    passkey, client = Passkey(signer), sign_in(signer, site)
    versions = [make_document(site, user_to_review=[signer]).versions.get() for _ in range(2)]
    pages = [reverse("admin:documents_sign", args=(version.pk,)) for version in versions]
    client.get(pages[0])
    data = {"decision": "sign", "credential": passkey.answer(client.session[passkeys.STATE_SESSION_KEY]["challenge"])}
    both_read_the_session, complete_authentication = threading.Barrier(2), passkeys.complete_authentication

    def complete(user: Any, response: dict[str, Any]) -> Authenticator:
        both_read_the_session.wait(30)
        return complete_authentication(user, response)

    monkeypatch.setattr(passkeys, "complete_authentication", complete)
    tabs = [Client() for _ in pages]
    for tab in tabs:
        tab.cookies.update(client.cookies)
    answers = make.at_once(*(partial(tab.post, page, data) for tab, page in zip(tabs, pages, strict=True)))
    assert sorted(answer.status_code for answer in answers) == [200, 302]
    assert "This passkey is not right. Try again." in "".join(answer.text for answer in answers)
    assert list(Signature.objects.values_list("confirmed_by", flat=True)) == ["Passkey"]
