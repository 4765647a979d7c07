"""Corrective and preventive actions: what somebody has to do by a due date, and whether it was effective."""
