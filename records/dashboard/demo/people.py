"""The demo's people of a site: accounts with roles, employees, and the jobs they hold."""

import datetime

from records.accounts import actions as accounts
from records.accounts.models import DefaultRole, Role, User
from records.dashboard.demo.place import Place
from records.employees import actions
from records.employees.models import Employee
from records.reference.models import (
    EducationResult,
    Language,
    LanguageProficiency,
    Nationality,
    NatureOfEmployment,
    Title,
)
from records.sites.models import Entity

FIRST = [
    "Amara",
    "Ben",
    "Chloe",
    "Daniel",
    "Elena",
    "Femi",
    "Grace",
    "Hugo",
    "Isla",
    "Jonas",
    "Katya",
    "Liam",
    "Maya",
    "Noah",
    "Olga",
    "Priya",
    "Quentin",
    "Rosa",
    "Samir",
    "Tess",
    "Umar",
    "Vera",
    "Wei",
    "Xenia",
    "Yusuf",
    "Zoe",
]
LAST = [
    "Abbott",
    "Baxter",
    "Castillo",
    "Drummond",
    "Eriksen",
    "Fontaine",
    "Garcia",
    "Hughes",
    "Ivanova",
    "Jensen",
    "Kowalski",
    "Larsson",
    "Moreno",
    "Novak",
    "Okafor",
    "Patel",
    "Quinn",
    "Rossi",
    "Schmidt",
    "Tanaka",
    "Underwood",
    "Varga",
    "Whitfield",
    "Yilmaz",
    "Zhang",
]
POSITIONS = [
    "Baker",
    "Line operator",
    "Packer",
    "Forklift driver",
    "Hygiene operative",
    "Maintenance fitter",
    "Laboratory analyst",
    "Shift supervisor",
    "Warehouse clerk",
    "Buyer",
]
LEADING = [
    ("manager", "Morgan", "Fielding", "Quality manager", DefaultRole.MANAGER),
    ("administrator", "Alexis", "Underhill", "Site manager", DefaultRole.SITE_ADMINISTRATOR),
    ("reviewer", "Robin", "Castle", "Food safety team leader", DefaultRole.MANAGER),
    ("approver", "Sasha", "Lindqvist", "Technical director", DefaultRole.MANAGER),
    ("standard", "Stevie", "Marlow", "Complaints officer", DefaultRole.STANDARD),
    ("reader", "Rowan", "Ellery", "Sales administrator", DefaultRole.READER),
]
JOBS = [
    ("Quality manager", "QUAL-01", "Quality", "Keeps the quality and food-safety system effective."),
    ("Shift supervisor", "PROD-01", "Production", "Leads a shift and releases its product."),
    ("Line operator", "PROD-02", "Production", "Runs a line to its work instruction."),
    ("Laboratory analyst", "QUAL-02", "Quality", "Tests product and environment samples."),
    ("Hygiene operative", "HYG-01", "Hygiene", "Cleans and disinfects to the cleaning plan."),
    ("Maintenance fitter", "ENG-01", "Engineering", "Keeps equipment safe and in repair."),
]


def fill(place: Place) -> None:
    """Add the people who can sign in, the rest of the staff, and their job descriptions."""
    for name, first, last, position, role in LEADING:
        _add_leading(place, name, first, last, position, role)
    head = place.employees[0]
    for idx in range((60 if place.main else 24) - len(LEADING)):
        place.employees.append(_add_worker(place, idx, head))
    for idx, (name, code, department, purpose) in enumerate(JOBS):
        holders = [employee for employee in place.employees if employee.position == name]
        job = actions.add_job_description(
            place.site.pk,
            {
                "name": name,
                "code": code,
                "department": department,
                "purpose": purpose,
                "responsibilities": f"{purpose}\nReports hazards at once.\nStops the line when food safety is at risk.",
                "effective_date": place.days_ago(400 - idx * 20),
                "review_date": place.days_ago(-330 + idx * 60),
                "reports_to": place.records.get("JobDescription", [None])[0],
                "employees": holders,
            },
            author=place.author(),
        )
        place.records.setdefault("JobDescription", []).append(job)


def user_name(place: Place, name: str) -> str:
    """Return the user name of one of the leading people of a site."""
    return name if place.main else f"{name}.{place.site.code.lower()}"


def _add_leading(place: Place, name: str, first: str, last: str, position: str, role: DefaultRole) -> None:
    last = last if place.main else f"{last}-Hale"
    email = f"{first}.{last}@larder.example".lower()
    user = User(user_name=user_name(place, name), given_name=first, family_name=last, email=email, home_site=place.site)
    author = place.author(place.admin)
    accounts.add_user(user, author=author)
    employee = actions.add_employee(
        place.site.pk,
        {
            **_personal(place, len(place.employees)),
            "first_name": first,
            "last_name": last,
            "position": position,
            "email_address": email,
            "user_id": user.pk,
            "reporting_to": place.employees[0] if place.employees else None,
        },
        author=author,
        key=user.pk,
    )
    place.employees.append(employee)
    place.users[name] = user
    accounts.set_members(Role.objects.at(place.site).get(default_role=role), add=[user], author=author)


def _add_worker(place: Place, idx: int, head: Employee) -> Employee:
    first = FIRST[(idx * 7 + (0 if place.main else 3)) % len(FIRST)]
    last = LAST[(idx * 11 + (0 if place.main else 5)) % len(LAST)]
    start = place.days_ago(place.chance.randrange(60, 3000))
    return actions.add_employee(
        place.site.pk,
        {
            **_personal(place, len(place.employees)),
            "first_name": first,
            "last_name": last,
            "position": POSITIONS[idx % len(POSITIONS)],
            "reporting_to": head if idx < 5 else place.employees[5 + idx % 5],
            "commencement_date": start,
            "education_training": [
                {
                    "title": "Food hygiene level 2",
                    "institution": "Regional college",
                    "year": str(start.year),
                    "award": "Certificate",
                    "education_result": place.system("Passed", EducationResult) if _has(place, "Passed") else None,
                }
            ],
            "employment_history": [
                {
                    "position_held": "Operator",
                    "company": "Northfield Foods",
                    "start_date": start - datetime.timedelta(days=900),
                    "finish_date": start - datetime.timedelta(days=30),
                }
            ]
            if idx % 3 == 0
            else [],
        },
        author=place.author(),
    )


def _has(place: Place, name: str) -> bool:
    return any(entry.name == name for entry in place.known(EducationResult).values())


def _personal(place: Place, number: int) -> dict[str, object]:
    chance = place.chance
    nature = "Agency" if number % 9 == 8 else "Employee"
    nationalities = list(place.known(Nationality).values())
    languages = place.known(Language)
    titles = list(place.known(Title).values())
    return {
        "title": titles[number % len(titles)],
        "code": f"{place.site.code}-{number + 1:04d}",
        "nature_of_employment": place.system(nature, NatureOfEmployment),
        "address": f"{chance.randrange(1, 200)} Mill Lane\n{place.site.name.split()[0]}",
        "phone": f"+44 1632 960{chance.randrange(100, 999)}",
        "mobile": f"+44 7700 900{chance.randrange(100, 999)}",
        "date_of_birth": datetime.datetime(
            chance.randrange(1962, 2004), chance.randrange(1, 13), chance.randrange(1, 28), tzinfo=datetime.UTC
        ),
        "nationality": nationalities[chance.randrange(len(nationalities))],
        "first_language": languages["English"],
        "second_language": languages["Polish"] if number % 4 == 0 else None,
        "second_language_proficiency": next(iter(place.known(LanguageProficiency).values()))
        if number % 4 == 0
        else None,
        "entity_folder": place.folder(Entity.EMPLOYEE, "Quality" if number < 6 else "Production"),
    }
