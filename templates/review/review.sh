#!/usr/bin/env bash
# review.sh validates the manifests of a pull request, shows which items they would show and hide, and writes both into one comment, which
# later runs update. action.yml runs it on GitHub, and template.yml on GitLab. It needs Linux, bash, curl and jq. docs/gitops.md explains
# the inputs.
#
#   REVIEW_MANIFESTS, REVIEW_NAMESPACE                 what to validate
#   VITRINE_SERVER, VITRINE_TOKEN, REVIEW_PROPERTY     what to compare with; nothing without a server
#   REVIEW_CONSOLE_URL, REVIEW_ITEMS                   the links and the number of items in the comment
#   REVIEW_BINARY or REVIEW_VERSION, REVIEW_DOWNLOADS  the program, or the release to download
#   REVIEW_FAIL_ON_INVALID                             whether invalid manifests fail the job
#   REVIEW_NAME                                        the name of the comment
#   REVIEW_NUMBER, VITRINE_COMMENT_TOKEN               the pull request on GitHub, and the token that comments
#
# The exit code is that of `vitrine validate`. The comparison and the comment do not fail the job.
set -euo pipefail

# GitHub allows 65,536 characters in a comment, and GitLab more. A character has one byte or more.
limit=65536

# Remove the tokens from the environment, so that each program gets only the token that it needs.
server_token=${VITRINE_TOKEN:-} comment_token=${VITRINE_COMMENT_TOKEN:-}
unset VITRINE_TOKEN VITRINE_COMMENT_TOKEN

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "review: $*" >&2
  exit 1
}

warn() { if [[ ${GITHUB_ACTIONS:-} ]]; then echo "::warning title=vitrine::$*"; else echo "review: $*" >&2; fi; }

# visible removes control characters, among them carriage returns, which end lines in Markdown.
visible() { LC_ALL=C tr -d '\000-\010\013-\037\177'; }

# log FILE prints a file. GitHub does not obey the workflow commands in it.
log() {
  local pause
  pause=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  if [[ ${GITHUB_ACTIONS:-} ]]; then echo "::stop-commands::$pause"; fi
  cat "$1"
  if [[ ${GITHUB_ACTIONS:-} ]]; then echo "::$pause::"; fi
}

# fit FILE BYTES prints the lines at the beginning of a file that fit into a number of bytes.
fit() {
  if (($(wc -c <"$1") <= $2)); then
    cat "$1"
  else
    head -c "$2" "$1" | sed '$d'
    shortened=1
  fi
}

# fenced FILE BYTES prints the beginning of a file as a block of code. The fence is longer than every run of backticks in the file, so that
# nothing in the file can end the block. Markup, mentions and GitLab's quick actions have no effect in a block of code.
fenced() {
  local fence
  cut -b -1000 "$1" >"$work/lines" # limits the length of the fence too
  fence='```'$(tr -c '`' '\n' <"$work/lines" | LC_ALL=C sort -u | tail -n 1)
  printf '\n%stext\n' "$fence"
  fit "$work/lines" "$2"
  printf '%s\n' "$fence"
}

# download NAME downloads a file of the release into $work.
download() {
  curl --silent --show-error --fail --location --proto '=https' --retry 3 --max-time 300 --output "$work/$1" "$REVIEW_DOWNLOADS/$REVIEW_VERSION/$1" ||
    fail "cannot download $1 of version $REVIEW_VERSION: check the inputs version and downloads"
}

# program sets vitrine to the path of the program, after downloading it if no input names it.
program() {
  local archive machine
  vitrine=${REVIEW_BINARY:-$work/vitrine}
  [[ ${REVIEW_BINARY:-} ]] && return
  [[ ${REVIEW_VERSION:-} =~ ^v[0-9][0-9A-Za-z.-]*$ ]] || fail "version '${REVIEW_VERSION:-}': must be a release such as v0.1.0; or set the input binary"
  case $(uname -sm) in
    'Linux x86_64') machine=amd64 ;;
    'Linux aarch64') machine=arm64 ;;
    *) fail "no release for $(uname -sm) that this script can run: use a runner with Linux, or set the input binary" ;;
  esac
  archive=vitrine_${REVIEW_VERSION}_linux_$machine.tar.gz
  download "$archive"
  download SHA256SUMS
  (cd "$work" && grep -F "  $archive" SHA256SUMS | sha256sum -c - >/dev/null) || fail "$archive does not have the checksum in SHA256SUMS"
  tar -xzf "$work/$archive" -C "$work" vitrine
}

# call METHOD URL [BODY] calls the API of the host. It writes the response into $work/response, and the reason of a failure into problem.
call() {
  local code
  : >"$work/response"
  # The token is in a file descriptor, because every user of the machine can read the command line.
  code=$(curl --silent --show-error --max-time 60 --request "$1" --header @<(printf '%s%s\n' "$scheme" "$comment_token") \
    --header 'Content-Type: application/json' ${3:+--data-binary "@$3"} --output "$work/response" --write-out '%{http_code}' "$2" 2>"$work/error") ||
    { problem="$1 ${2%%\?*}: $(tr '\n' ' ' <"$work/error")" && return 1; }
  [[ $code == 2* ]] && return
  problem="$1 ${2%%\?*}: status $code: $(read_response '.message // .error // "no message" | tostring | gsub("\\s+"; " ") | .[:300]')"
  return 1
}

# read_response FILTER prints what a filter of jq finds in the response, or nothing if the response is not JSON.
read_response() { jq -r --arg marker "$marker" "$1" "$work/response" 2>/dev/null | visible || true; }

# comment creates the comment, or updates the one of an earlier run. It writes the reason of a failure into problem.
comment() {
  local api comments item author own update page id ids=()
  if [[ ${GITHUB_ACTIONS:-} ]]; then
    [[ ${REVIEW_NUMBER:-} ]] || { problem='the workflow does not run for a pull request' && return 1; }
    api=$GITHUB_API_URL scheme='Authorization: Bearer ' update=PATCH author=user
    comments=$api/repos/$GITHUB_REPOSITORY/issues/$REVIEW_NUMBER/comments item=$api/repos/$GITHUB_REPOSITORY/issues/comments
  elif [[ ${GITLAB_CI:-} ]]; then
    [[ ${CI_MERGE_REQUEST_IID:-} ]] || { problem='the pipeline does not run for a merge request' && return 1; }
    api=$CI_API_V4_URL scheme='PRIVATE-TOKEN: ' update=PUT author=author
    comments=$api/projects/$CI_MERGE_REQUEST_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes item=$comments
  else
    problem='neither GitHub nor GitLab runs this script' && return 1
  fi
  [[ $comment_token ]] || { problem='the job has no token for comments; hosts do not give secrets to pull requests from forks' && return 1; }
  # Everyone can write a comment with the marker, so the author must be the owner of the token. GitHub does not tell the token of a job who
  # it is. It is a bot, as no person can be.
  if call GET "$api/user"; then
    own=".$author.id == $(read_response .id)"
  elif [[ $author == user ]]; then
    own='.user.type == "Bot"'
  else
    return 1
  fi
  for ((page = 1; ; page++)); do
    call GET "$comments?per_page=100&page=$page&sort=asc&order_by=created_at" || return
    case $(read_response 'if type == "array" then length else "" end') in
      0) break ;;
      '') problem="GET $comments: the response is not a list of comments" && return 1 ;;
    esac
    while read -r id; do ids+=("$id"); done < <(read_response ".[] | select($own and (.body // \"\" | startswith(\$marker))) | .id")
  done
  jq -n --rawfile body "$work/comment.md" '{body: $body}' >"$work/body.json"
  if ((${#ids[@]} == 0)); then
    call POST "$comments" "$work/body.json"
    return
  fi
  call "$update" "$item/${ids[0]}" "$work/body.json" || return
  # Two runs at the same time can each create a comment. Keep the oldest.
  for id in "${ids[@]:1}"; do call DELETE "$item/$id" || return; done
}

[[ ${REVIEW_NAME:=content} =~ ^[a-z0-9-]+$ ]] || fail "name '$REVIEW_NAME': must consist of lower-case letters, digits and hyphens"
[[ ${REVIEW_FAIL_ON_INVALID:=true} =~ ^(true|false)$ ]] || fail "fail-on-invalid '$REVIEW_FAIL_ON_INVALID': must be true or false"
marker="<!-- vitrine review: $REVIEW_NAME -->"
manifests=(--filename "${REVIEW_MANIFESTS:?}" --namespace "${REVIEW_NAMESPACE:-default}")
program

status=0
"$vitrine" validate "${manifests[@]}" 2>&1 | visible >"$work/validate.txt" || status=$?
log "$work/validate.txt"
if [[ ${GITHUB_ACTIONS:-} ]]; then
  "$vitrine" validate "${manifests[@]}" --output github 2>/dev/null || true # annotates the lines
fi

compared=0
if [[ $status == 0 && ${VITRINE_SERVER:-} && $server_token ]]; then
  VITRINE_TOKEN=$server_token "$vitrine" diff "${manifests[@]}" --items "${REVIEW_ITEMS:-5}" --links \
    ${REVIEW_PROPERTY:+--property "$REVIEW_PROPERTY"} ${REVIEW_CONSOLE_URL:+--console-url "$REVIEW_CONSOLE_URL"} \
    >"$work/stdout" 2>"$work/stderr" || compared=$?
  visible <"$work/stdout" >"$work/diff.md"
  visible <"$work/stderr" >"$work/diff.txt"
  log "$work/diff.md"
  log "$work/diff.txt"
fi

shortened=''
{
  printf '%s\n' "$marker"
  case $status in
    0) echo '**The manifests are valid.**' ;;
    7) echo '**The manifests have errors.**' ;;
    *) echo '**The manifests could not be validated.**' ;;
  esac
  fenced "$work/validate.txt" 20000
  if [[ -e $work/diff.md ]]; then
    if [[ $compared != 0 ]]; then
      printf '\n**The comparison with the server failed.**\n'
      fenced "$work/diff.txt" 10000
    fi
    echo
    fit "$work/diff.md" $((limit - 34000)) # the rest is for what is above and below, with fences of at most 1,010 bytes
  elif [[ ${VITRINE_SERVER:-} && $status != 0 ]]; then
    printf '\nThe manifests were not compared with the server, because they are not valid.\n'
  elif [[ ${VITRINE_SERVER:-} ]]; then
    printf '\nThe manifests were not compared with the server, because the job has no token of the server. '
    echo 'Hosts do not give secrets to pull requests from forks.'
  fi
  if [[ $shortened ]]; then printf '\nThis comment contains only the beginning of the output. The log of the job contains all of it.\n'; fi
} >"$work/comment.md"
if [[ ${GITHUB_STEP_SUMMARY:-} ]]; then cat "$work/comment.md" >>"$GITHUB_STEP_SUMMARY"; fi

comment || warn "The comment could not be written: $problem"
if [[ $status == 7 && $REVIEW_FAIL_ON_INVALID == false ]]; then status=0; fi
exit "$status"
