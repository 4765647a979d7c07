"""The models of accounts: users, roles and memberships, directories, credentials, stored responses."""

from records.accounts.models.access_changes import AccessChange
from records.accounts.models.answers import KeptAnswer
from records.accounts.models.attributes import UserAttribute
from records.accounts.models.calls import KeyCall
from records.accounts.models.credentials import CalendarLink, Dialect, ProvisioningToken, SubscriptionKey
from records.accounts.models.directories import Directory, DirectoryRemoval, ExternalId
from records.accounts.models.guesses import GuessCounter
from records.accounts.models.oauth import SCOPES, AccessToken, OAuthClient
from records.accounts.models.roles import DefaultRole, Role, RoleMembership
from records.accounts.models.security import SecurityEvent, SecurityKind
from records.accounts.models.users import User, UserEmail

__all__ = [
    "SCOPES",
    "AccessChange",
    "AccessToken",
    "CalendarLink",
    "DefaultRole",
    "Dialect",
    "Directory",
    "DirectoryRemoval",
    "ExternalId",
    "GuessCounter",
    "KeptAnswer",
    "KeyCall",
    "OAuthClient",
    "ProvisioningToken",
    "Role",
    "RoleMembership",
    "SecurityEvent",
    "SecurityKind",
    "SubscriptionKey",
    "User",
    "UserAttribute",
    "UserEmail",
]
