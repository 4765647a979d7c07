"""Corrective and preventive actions: what somebody has to do by a day, and whether it worked."""
