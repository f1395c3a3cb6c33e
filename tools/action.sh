#!/usr/bin/env bash
# The body of action.yml: installs abiscan into an environment of its own, scans once into every format, sets outputs.
# Reads ABISCAN_* (the action's inputs); needs GITHUB_OUTPUT, and GITHUB_STEP_SUMMARY for a summary.
set -uo pipefail

# End with an annotation: a sentence on what went wrong.
stop() {
  echo "::error title=abiscan::$1"
  echo "exit-status=2" >> "$GITHUB_OUTPUT"
  exit 2
}

python=${ABISCAN_PYTHON:-}
if [ -z "$python" ]; then
  environment=${RUNNER_TEMP:-/tmp}/abiscan-environment
  python3 -m venv "$environment" || stop "python3 made no environment: see this step's log"
  python=$environment/bin/python
  [ -e "$python" ] || python=$environment/Scripts/python.exe  # Windows
  # The checkout of this action is the package, unless another version is asked for.
  if [ -n "${ABISCAN_VERSION:-}" ]; then what="abiscan$ABISCAN_VERSION"; else what="$ABISCAN_HERE"; fi
  "$python" -m pip install --quiet --disable-pip-version-check "$what" || stop "pip could not install abiscan: see this step's log"
fi

reports=${ABISCAN_REPORTS:-abiscan-report}
mkdir -p "$reports" || stop "the directory of the reports cannot be made: see this step's log"
# What an earlier run left here is not this run's: nobody may find it under this run's name.
names=(abiscan.json abiscan.sarif abiscan-junit.xml abiscan.html abiscan.md annotations.txt)
for name in "${names[@]}"; do rm -f -- "$reports/$name" || stop "earlier reports cannot be removed: see this step's log"; done

# A line is a path, if there is one; else it is split on white space and expanded as patterns, both on purpose.
shopt -s nullglob
shopt -s globstar 2>/dev/null  # macOS has bash 3.2, without `**`
targets=()
while IFS= read -r line || [ -n "$line" ]; do
  line=${line%$'\r'}
  if [ -e "$line" ]; then targets+=("$line"); continue; fi
  set -f
  words=($line)
  set +f
  for word in ${words[@]+"${words[@]}"}; do
    matching=($word)
    if [ "${#matching[@]}" -eq 0 ]; then echo "::warning title=abiscan::no file matches $word"; else targets+=("${matching[@]}"); fi
  done
done <<< "$ABISCAN_TARGETS"
[ "${#targets[@]}" -gt 0 ] || stop "no file matches the targets of this step"
shopt -u nullglob
set -f
extra=(${ABISCAN_ARGS:-})
set +f

options=(-f "json:$reports/abiscan.json" -f "sarif:$reports/abiscan.sarif" -f "junit:$reports/abiscan-junit.xml"
         -f "html:$reports/abiscan.html" -f "markdown:$reports/abiscan.md" -f "github:$reports/annotations.txt" -f text)
[ -n "${ABISCAN_TORCH:-}" ] && options+=(--torch "$ABISCAN_TORCH")
# The installed torch is that of the job, not of the environment made above.
if [ "${ABISCAN_TORCH:-}" = installed ] && [ -z "${ABISCAN_PYTHON:-}${VIRTUAL_ENV:-}${CONDA_PREFIX:-}" ]; then
  options+=(--python "$(python3 -c 'import sys; print(sys.executable)')")
fi
[ -n "${ABISCAN_REQUIRE_TORCH:-}" ] && options+=(--require-torch "$ABISCAN_REQUIRE_TORCH")
[ -n "${ABISCAN_STABLE:-}" ] && options+=(--require-stable-abi "$ABISCAN_STABLE")
[ "${ABISCAN_MATRIX:-}" = true ] && options+=(--matrix)
[ -n "${ABISCAN_FAIL_ON:-}" ] && options+=(--fail-on "$ABISCAN_FAIL_ON")
[ -n "${ABISCAN_BASELINE:-}" ] && options+=(--baseline "$ABISCAN_BASELINE")
[ -n "${ABISCAN_CONFIG:-}" ] && options+=(--config "$ABISCAN_CONFIG")

# A name in a binary must not reach the runner as a command: commands are off while the text report is printed.
token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
echo "::stop-commands::$token"
"$python" -m abiscan scan "${options[@]}" ${extra[@]+"${extra[@]}"} -- "${targets[@]}"
status=$?
echo "::$token::"

if [ "$status" -eq 2 ]; then echo "::error title=abiscan::nothing was checked: see this step's log"; fi
case $status in 0) verdict=pass ;; 1) verdict=fail ;; 3) verdict=incomplete ;; *) verdict= ;; esac
{
  echo "exit-status=$status"
  echo "verdict=$verdict"
  for output in json:abiscan.json sarif:abiscan.sarif junit:abiscan-junit.xml html:abiscan.html; do
    if [ -f "$reports/${output#*:}" ]; then echo "${output%%:*}=$reports/${output#*:}"; fi
  done
} >> "$GITHUB_OUTPUT"

if [ "${ABISCAN_ANNOTATIONS:-true}" = true ] && [ -f "$reports/annotations.txt" ]; then cat "$reports/annotations.txt"; fi
if [ "${ABISCAN_SUMMARY:-true}" = true ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$reports/abiscan.md" ]; then
  cat "$reports/abiscan.md" >> "$GITHUB_STEP_SUMMARY"
fi
exit "$status"
