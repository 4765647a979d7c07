#!/usr/bin/env bash
# Set up Larder on a fresh Debian machine: packages, accounts, database, settings, services and proxy.
#
#   sudo BASE_URL=https://larder.example.com deploy/install.sh
#
# Running it again changes nothing that is there: settings, database and certificates stay. Afterwards:
#   sudo deploy/bootstrap.sh --site "Hillside Bakery" --email you@example.com
set -euo pipefail

[ "$(id -u)" = 0 ] || { echo "Run this as root." >&2; exit 1; }
BASE_URL=${BASE_URL:?Set BASE_URL to the https address under which people will reach Larder.}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
host=${BASE_URL#https://}
host=${host%%[:/]*}

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends nginx openssl postgresql python3 python3-venv redis-server >/dev/null

id larder >/dev/null 2>&1 || useradd --system --home-dir /var/lib/larder --no-create-home --shell /usr/sbin/nologin larder
install -d -o root -g root -m 0755 /opt/larder /opt/larder/releases
install -d -o larder -g larder -m 0700 /var/lib/larder /var/backups/larder
install -d -o root -g larder -m 0750 /etc/larder

systemctl enable --now postgresql redis-server
if [ ! -f /etc/larder/larder.env ]; then
    password=$(openssl rand -hex 24)
    runuser -u postgres -- psql -v ON_ERROR_STOP=1 -q <<SQL
DO \$\$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'larder') THEN CREATE ROLE larder LOGIN; END IF;
END \$\$;
ALTER ROLE larder PASSWORD '$password';
SQL
    runuser -u postgres -- psql -tAc "SELECT 1 FROM pg_database WHERE datname = 'larder'" | grep -q 1 ||
        runuser -u postgres -- createdb --owner larder --encoding UTF8 --template template0 larder
    umask 027
    cat >/etc/larder/larder.env <<ENV
ENVIRONMENT=production
BASE_URL=$BASE_URL
SECRET_KEY=$(openssl rand -base64 48 | tr -d '\n/+=')
CREDENTIAL_PEPPERS=$(openssl rand -base64 48 | tr -d '\n/+=')
DATABASE_URL=postgresql://larder:$password@127.0.0.1:5432/larder
CACHE_URL=redis://127.0.0.1:6379/0
DATA_DIR=/var/lib/larder
SEAL_KEY_FILE=/etc/larder/seal_key.pem
METRICS_PORT=9464
EMAIL_URL=${EMAIL_URL:-smtp+tls://user:password@mail.example.com:587}
TRUSTED_PROXIES=127.0.0.1
BIND=127.0.0.1:8000
WEB_WORKERS=$(nproc)
WEB_THREADS=8
ENV
    openssl genpkey -algorithm ed25519 -out /etc/larder/seal_key.pem
    chown root:larder /etc/larder/larder.env /etc/larder/seal_key.pem
    chmod 0640 /etc/larder/larder.env /etc/larder/seal_key.pem
fi

name=$("$here/release.sh" prepare "$here/..")
install -m 0644 "$here"/systemd/larder-* /etc/systemd/system/
systemctl daemon-reload

if [ ! -f /etc/nginx/tls/tls.crt ]; then
    # A certificate of our own until the company's is put in its place.
    install -d -m 0700 /etc/nginx/tls
    openssl req -x509 -newkey rsa:2048 -nodes -days 90 -subj "/CN=$host" -addext "subjectAltName=DNS:$host" \
        -keyout /etc/nginx/tls/tls.key -out /etc/nginx/tls/tls.crt 2>/dev/null
fi
install -m 0644 "$here/nginx/upstream-machine.conf" /etc/nginx/larder-upstream.conf
install -m 0644 "$here/nginx/larder.conf" /etc/nginx/conf.d/larder.conf
rm -f /etc/nginx/sites-enabled/default
nginx -t -q

systemctl enable -q larder-web.socket larder-web.service larder-worker.service larder-verify.timer larder-backup.timer larder-seal.timer
systemctl start larder-web.socket
"$here/release.sh" switch "$name"
systemctl reload-or-restart nginx
systemctl start larder-verify.timer larder-backup.timer larder-seal.timer
echo "Larder $name runs at $BASE_URL. Set EMAIL_URL in /etc/larder/larder.env, then: systemctl restart larder-web larder-worker"
