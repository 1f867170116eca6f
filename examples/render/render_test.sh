#!/bin/sh
# The three programs from end to end, on a few small pictures: render_test.sh FOLDER_OF_PROGRAMS
set -eu
programs=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "render_test: $*" >&2; exit 1; }
expect_exit() { # STATUS COMMAND...
  expected=$1; shift
  status=0; "$@" >"$work/said" 2>&1 || status=$?
  [ "$status" -eq "$expected" ] || fail "'$*' ended with $status, not $expected: $(cat "$work/said")"
}

[ "$("$programs/make_views" | sort -u | wc -l)" -eq 1000 ] || fail "make_views does not print 1,000 different views"
[ "$("$programs/make_views" | grep -c '"stumble":true')" -eq 20 ] || fail "not one view in fifty stumbles"

mkdir "$work/pictures"
for view in 9 10 11; do
  expect_exit 0 "$programs/render" --width 32 --material glass --shape ring --angle "$view" --out "$work/pictures/$view.png"
done
expect_exit 0 "$programs/render" --width 32 --material glass --shape ring --angle 9 --out "$work/again.png"
cmp "$work/again.png" "$work/pictures/9.png" || fail "the same arguments gave another picture"
[ "$(ls "$work/pictures" | wc -l)" -eq 3 ] || fail "something other than pictures was left: $(ls "$work/pictures")"

expect_exit 3 env DROVER_ATTEMPT=1 "$programs/render" --width 32 --stumble true --out "$work/7.png"
grep -q 'lost the scene cache of view 7' "$work/said" || fail "a stumble does not say which view"
[ ! -e "$work/7.png" ] || fail "a stumble leaves a picture"
expect_exit 0 env DROVER_ATTEMPT=2 "$programs/render" --width 32 --stumble true --out "$work/7.png"

expect_exit 2 "$programs/render" --material wood --out "$work/8.png"
grep -q "give one of matte, " "$work/said" || fail "a bad material does not say the good ones"
expect_exit 2 "$programs/render" --angle north --out "$work/8.png"
expect_exit 2 "$programs/render" --out "$work/no/folder.png"
expect_exit 2 "$programs/render" --material matte

expect_exit 0 "$programs/contact_sheet" "$work/pictures" "$work/sheet.png"
expect_exit 2 "$programs/contact_sheet" "$work/none" "$work/sheet.png"
