#!/usr/bin/env bash
# Make a release of Larder; put a release into place on a plain machine, and take it back.
#
#   release.sh make VERSION     check, tag, build and list a release; run it in the repository
#   release.sh prepare SOURCE   copy SOURCE to $PREFIX/releases/<name>, install its packages, collect static files, compile
#   release.sh switch NAME      check and run the migrations, then let web and worker run NAME
#   release.sh rollback         let web and worker run the release before; migrations only ever add, so the schema stays
#   release.sh list             name the releases; the current one is marked
#
# PREFIX, ETC, STATE and SERVICES can be set, so that a trial needs neither root nor systemd. `make` writes to OUTPUT
# (build/releases/VERSION) and runs CHECKS first.
set -euo pipefail

PREFIX=${PREFIX:-/opt/larder}
ETC=${ETC:-/etc/larder}
STATE=${STATE:-/var/lib/larder}
RUN_AS=${RUN_AS-larder}
PYTHON=${PYTHON:-python3}
# The command that lets the services load the current release: the sockets stay open meanwhile.
SERVICES=${SERVICES:-systemctl restart larder-web.service larder-worker.service}

CHECKS=${CHECKS:-make check test faults}

stop() {
    echo "$*" >&2
    exit 1
}

section_of() { # section_of VERSION: print what CHANGELOG.md says about it
    awk -v title="## $1" '/^## / { inside = ($0 == title || index($0, title " ") == 1); next } inside' CHANGELOG.md
}

make_release() {
    local version=$1 tag=v$1 output before notes
    cd "$(git rev-parse --show-toplevel)"
    output=${OUTPUT:-build/releases/$version}
    [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || stop "A version looks like 1.2.3, not like $version."
    [ -z "$(git status --porcelain)" ] || stop "There are changes that are not committed."
    ! git rev-parse -q --verify "refs/tags/$tag" >/dev/null || stop "There is a tag $tag already."
    grep -qx "version = \"$version\"" pyproject.toml || stop "pyproject.toml names another version than $version."
    notes=$(section_of "$version")
    [ -n "$notes" ] || stop "CHANGELOG.md has no section \"## $version\"."
    [[ $notes == *"**Before an upgrade"* ]] || stop "The section of $version says nothing under \"Before an upgrade\"."
    before=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)
    $CHECKS || stop "The checks failed; nothing was tagged."
    [ -z "$(git status --porcelain)" ] || stop "The checks changed files of the repository; nothing was tagged."

    git tag -a "$tag" --cleanup=verbatim -m "Larder $version" -m "$notes"
    mkdir -p "$output"
    git archive --format=tar --prefix="larder-$version/" "$tag" | gzip -n >"$output/larder-$version.tar.gz"
    if [ -d build/site/site ]; then
        tar -C build/site --sort=name --owner=0 --group=0 --numeric-owner -czf "$output/larder-$version-docs.tar.gz" site
        cp build/site/docs/packages.md "$output/packages.md"
    fi
    {
        echo "Larder $version, commit $(git rev-parse "$tag^{commit}")"
        echo
        echo "$notes"
        echo
        echo "Migrations since ${before:-the beginning}:"
        git diff --name-only --diff-filter=A "${before:-$(git hash-object -t tree /dev/null)}" "$tag" -- '*/migrations/0*.py'
        echo
        (cd "$output" && sha256sum -- *.tar.gz)
    } >"$output/release.txt"
    cat "$output/release.txt"
    echo "To publish: git push origin $tag. Afterwards: python deploy/check_migrations.py --release" >&2
}

as_larder() {
    if [ "$(id -un)" = "$RUN_AS" ] || [ "$RUN_AS" = "" ]; then "$@"; else runuser -u "$RUN_AS" -- "$@"; fi
}

manage() { # manage RELEASE COMMAND...
    local release=$1
    shift
    (
        cd "$release"
        set -a
        # shellcheck disable=SC1091
        . "$ETC/larder.env"
        set +a
        as_larder .venv/bin/python manage.py "$@"
    )
}

prepare() {
    local source name release
    source=$(cd "$1" && pwd)
    name=${2:-$(date -u +%Y%m%dT%H%M%SZ)}
    release=$PREFIX/releases/$name
    [ ! -e "$release" ] || { echo "There is a release $name already." >&2; exit 1; }
    mkdir -p "$release"
    for part in manage.py pyproject.toml README.md CHANGELOG.md LICENSE .env.example config records documents materials scim templates static locale deploy docs; do
        cp -R "$source/$part" "$release/"
    done
    find "$release" -name __pycache__ -type d -prune -exec rm -rf {} +
    "$PYTHON" -m venv "$release/.venv"
    "$release/.venv/bin/python" -m pip install -qq --no-input --disable-pip-version-check --no-deps --only-binary :all: \
        --require-hashes -r "$release/deploy/requirements.lock"
    (cd "$release" && env -i PATH="$PATH" DATA_DIR="$release/build" .venv/bin/python manage.py collectstatic --no-input -v 0)
    rm -rf "$release/build"
    "$release/.venv/bin/python" -m compileall -q "$release/config" "$release/records" "$release/documents" \
        "$release/materials" "$release/scim"
    echo "$name"
}

switch() {
    local release=$PREFIX/releases/$1
    [ -d "$release" ] || { echo "There is no release $1." >&2; exit 1; }
    manage "$release" check --deploy --fail-level ERROR
    manage "$release" migrate --no-input
    if [ -L "$PREFIX/current" ]; then readlink "$PREFIX/current" >"$PREFIX/previous"; fi
    ln -sfn "$release" "$PREFIX/current.new"
    mv -T "$PREFIX/current.new" "$PREFIX/current"
    $SERVICES
}

rollback() {
    [ -s "$PREFIX/previous" ] || { echo "There is no release to go back to." >&2; exit 1; }
    local before
    before=$(cat "$PREFIX/previous")
    [ -d "$before" ] || { echo "The release before, $before, was removed." >&2; exit 1; }
    readlink "$PREFIX/current" >"$PREFIX/previous"
    ln -sfn "$before" "$PREFIX/current.new"
    mv -T "$PREFIX/current.new" "$PREFIX/current"
    $SERVICES
}

list() {
    local current=
    [ ! -L "$PREFIX/current" ] || current=$(readlink "$PREFIX/current")
    for release in "$PREFIX"/releases/*/; do
        release=${release%/}
        if [ "$release" = "$current" ]; then echo "* ${release##*/}"; else echo "  ${release##*/}"; fi
    done
}

case ${1:-} in
make) make_release "${2:?VERSION is missing}" ;;
prepare) shift; prepare "${1:?SOURCE is missing}" "${2:-}" ;;
switch) switch "${2:?NAME is missing}" ;;
rollback) rollback ;;
list) list ;;
*) sed -n '2,11p' "$0" >&2; exit 2 ;;
esac
