#!/usr/bin/env bash
# Make the first site, superuser and credentials on a machine that install.sh set up: bootstrap.sh --site NAME --email ADDRESS
set -euo pipefail
cd /opt/larder/current
set -a
# shellcheck disable=SC1091
. /etc/larder/larder.env
set +a
exec runuser -u larder -- .venv/bin/python manage.py bootstrap "$@"
