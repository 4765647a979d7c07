"""Webhooks: where changes of a site are sent, and each attempt."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import records.history.moments
import records.sites.text


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("sites", "0003_actions_and_attachments"),
    ]

    operations = [
        migrations.CreateModel(
            name="Subscription",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "name",
                    records.sites.text.LineField(
                        blank=True,
                        default="",
                        help_text="What receives the changes, such as “Warehouse”.",
                        max_length=255,
                    ),
                ),
                (
                    "address",
                    models.CharField(
                        help_text="Where the changes are sent, such as https://warehouse.example.com/larder.",
                        max_length=2000,
                    ),
                ),
                (
                    "entities",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="Only changes of these kinds are sent. Choose none to send all.",
                        verbose_name="kinds of record",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("Active", "Active"), ("Paused", "Paused")],
                        default="Active",
                        editable=False,
                        max_length=10,
                    ),
                ),
                ("pause_reason", models.CharField(blank=True, editable=False, max_length=255)),
                ("is_archived", models.BooleanField(default=False, verbose_name="archived")),
                (
                    "secret",
                    models.TextField(editable=False, help_text="Encrypted with a key that is derived from SECRET_KEY."),
                ),
                ("secret_hint", models.CharField(editable=False, max_length=8)),
                ("secret_made", models.DateTimeField(default=records.history.moments.now, editable=False)),
                ("secret_shown", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "former_secret",
                    models.TextField(blank=True, editable=False, help_text="Also signs until `former_until`."),
                ),
                ("former_until", models.DateTimeField(blank=True, editable=False, null=True)),
                ("position", models.PositiveBigIntegerField(default=0, editable=False)),
                ("failing_since", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "failures",
                    models.PositiveIntegerField(
                        default=0, editable=False, help_text="Attempts since the last success."
                    ),
                ),
                ("next_attempt", models.DateTimeField(blank=True, editable=False, null=True)),
                ("claim", models.UUIDField(blank=True, editable=False, null=True)),
                ("claimed_until", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "delivered",
                    models.PositiveBigIntegerField(default=0, editable=False, help_text="Deliveries so far."),
                ),
                (
                    "failed",
                    models.PositiveBigIntegerField(default=0, editable=False, help_text="Attempts so far that failed."),
                ),
                ("created", models.DateTimeField(default=records.history.moments.now, editable=False)),
                ("last_modified", models.DateTimeField(default=records.history.moments.now, editable=False)),
                (
                    "site",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="sites.site"
                    ),
                ),
            ],
            options={
                "verbose_name": "webhook",
                "ordering": ("name", "id"),
                "default_permissions": ("view", "add", "change"),
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("Change", "Change"), ("Again", "Sent again"), ("Test", "Test")], max_length=10
                    ),
                ),
                ("number", models.PositiveBigIntegerField(blank=True, null=True, verbose_name="change")),
                ("message_id", models.CharField(max_length=100)),
                ("at", models.DateTimeField(default=records.history.moments.now)),
                ("attempt", models.PositiveIntegerField(default=1)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("Waiting", "Waiting for the worker"),
                            ("Delivered", "Delivered"),
                            ("Failed", "Failed"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "status",
                    models.PositiveSmallIntegerField(blank=True, help_text="The status of the answer.", null=True),
                ),
                (
                    "fault",
                    models.CharField(blank=True, help_text="Why the attempt failed, in plain words.", max_length=255),
                ),
                (
                    "answer",
                    models.TextField(blank=True, help_text="The beginning of the answer's body, without secrets."),
                ),
                ("duration_ms", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "subscription",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="webhooks.subscription",
                        verbose_name="webhook",
                    ),
                ),
            ],
            options={
                "verbose_name": "webhook delivery",
                "verbose_name_plural": "webhook deliveries",
                "ordering": ("-id",),
                "default_permissions": ("view",),
            },
        ),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(fields=["site", "name"], name="subscription_of_site"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["subscription", "-id"], name="delivery_of_subscription"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["at"], name="delivery_by_time"),
        ),
    ]
