"""The demo's people of a site: accounts with roles, employees, and the jobs they hold."""

import datetime

from records.accounts import actions as accounts
from records.accounts.models import Role, User
from records.dashboard.demo.demo_site import DemoSite, content
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


def fill(place: DemoSite) -> None:
    """Add the people who can sign in, the rest of the staff, and their job descriptions."""
    data = content("people")
    for leading_person in data["leading"]:
        _add_leading(place, **leading_person)
    head = place.employees[0]
    for idx in range((60 if place.main else 24) - len(data["leading"])):
        place.employees.append(_add_worker(place, idx, head))
    for idx, row in enumerate(data["jobs"]):
        name, purpose = row["name"], row["purpose"]
        holders = [employee for employee in place.employees if employee.position == name]
        job = actions.add_job_description(
            place.site.pk,
            {
                **row,
                "responsibilities": f"{purpose}\nReports hazards at once.\nStops the line when food safety is at risk.",
                "effective_date": place.days_ago(400 - idx * 20),
                "review_date": place.days_ago(-330 + idx * 60),
                "reports_to": place.records.get("JobDescription", [None])[0],
                "employees": holders,
            },
            author=place.author(),
        )
        place.records.setdefault("JobDescription", []).append(job)


def _add_leading(place: DemoSite, user_name: str, first_name: str, last_name: str, position: str, role: str) -> None:
    last = last_name if place.main else f"{last_name}-Hale"
    email = f"{first_name}.{last}@larder.example".lower()
    name = user_name if place.main else f"{user_name}.{place.site.code.lower()}"
    user = User(user_name=name, given_name=first_name, family_name=last, email=email, home_site=place.site)
    author = place.author(place.admin)
    accounts.add_user(user, author=author)
    employee = actions.add_employee(
        place.site.pk,
        {
            **_personal(place, len(place.employees)),
            "first_name": first_name,
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
    place.users[user_name] = user
    accounts.set_members(Role.objects.at(place.site).get(default_role=role), add=[user], author=author)


def _add_worker(place: DemoSite, idx: int, head: Employee) -> Employee:
    firsts, lasts, positions = (content("people")[name] for name in ("first_names", "last_names", "positions"))
    first = firsts[(idx * 7 + (0 if place.main else 3)) % len(firsts)]
    last = lasts[(idx * 11 + (0 if place.main else 5)) % len(lasts)]
    start = place.days_ago(place.chance.randrange(60, 3000))
    return actions.add_employee(
        place.site.pk,
        {
            **_personal(place, len(place.employees)),
            "first_name": first,
            "last_name": last,
            "position": positions[idx % len(positions)],
            "reporting_to": head if idx < 5 else place.employees[5 + idx % 5],
            "commencement_date": start,
            "education_training": [
                {
                    "title": "Food hygiene level 2",
                    "institution": "Regional college",
                    "year": str(start.year),
                    "award": "Certificate",
                    "education_result": place.shared_entries(EducationResult).get("Passed"),
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


def _personal(place: DemoSite, number: int) -> dict[str, object]:
    chance = place.chance
    nature = "Agency" if number % 9 == 8 else "Employee"
    nationalities = list(place.shared_entries(Nationality).values())
    languages = place.shared_entries(Language)
    titles = list(place.shared_entries(Title).values())
    return {
        "title": titles[number % len(titles)],
        "code": f"{place.site.code}-{number + 1:04d}",
        "nature_of_employment": place.shared_entries(NatureOfEmployment)[nature],
        "address": f"{chance.randrange(1, 200)} Mill Lane\n{place.site.name.split()[0]}",
        "phone": f"+44 1632 960{chance.randrange(100, 999)}",
        "mobile": f"+44 7700 900{chance.randrange(100, 999)}",
        "date_of_birth": datetime.datetime(
            chance.randrange(1962, 2004), chance.randrange(1, 13), chance.randrange(1, 28), tzinfo=datetime.UTC
        ),
        "nationality": nationalities[chance.randrange(len(nationalities))],
        "first_language": languages["English"],
        "second_language": languages["Polish"] if number % 4 == 0 else None,
        "second_language_proficiency": next(iter(place.shared_entries(LanguageProficiency).values()))
        if number % 4 == 0
        else None,
        "entity_folder": place.folder(Entity.EMPLOYEE, "Quality" if number < 6 else "Production"),
    }
