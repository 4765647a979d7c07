"""Auditor's packs: one ZIP with everything that an auditor asks of a site and a period, and its proof."""
