#include "cli/completion_scripts.h"

namespace drover {

// bash cuts words at '=' and ':' too, and replaces only what is behind the last cut: words are put together again for
// drover, and what it says is cut for bash.
const std::string_view kBashCompletion = R"bash(# bash completion for drover:  eval "$(drover completion bash)"
_drover() {
  local rest=$COMP_LINE at=0 i piece blank program kind number line before
  local -a words=() starts=() lines=() found=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]}
    blank=${rest%%[![:space:]]*}
    rest=${rest:${#blank}}
    at=$((at + ${#blank}))
    if ((i == 0)) || [[ -n $blank ]]; then
      words+=('')
      starts+=("$i")
    fi
    if ((i == COMP_CWORD && COMP_POINT >= at && COMP_POINT - at < ${#piece})); then
      piece=${piece:0:COMP_POINT - at}
    fi
    words[${#words[@]} - 1]+=$piece
    rest=${rest:${#piece}}
    at=$((at + ${#piece}))
  done
  local current=${words[${#words[@]} - 1]}
  before=${current%"$piece"}
  [[ $piece == [=:] ]] && before=$current
  program=${words[0]/#\~\//$HOME/}
  mapfile -t lines < <("$program" __complete -- "${words[@]:1}" 2>/dev/null)
  read -r kind number <<<"${lines[0]}"
  COMPREPLY=()
  case $kind in
    files | folders)
      compopt -o filenames 2>/dev/null
      if [[ $kind == files ]]; then
        mapfile -t found < <(compgen -f -- "${current:number}")
      else
        mapfile -t found < <(compgen -d -- "${current:number}")
      fi
      for line in "${found[@]}"; do
        line=${current:0:number}$line
        COMPREPLY+=("${line#"$before"}")
      done
      ;;
    program)
      if declare -F _command_offset >/dev/null; then
        _command_offset "${starts[number + 1]}"
      elif ((number + 2 == ${#words[@]})); then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -c -- "$current"; compgen -d -- "$current")
      else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      ;;
  esac
  for line in "${lines[@]:1}"; do
    line=${line%%$'\t'*}
    COMPREPLY+=("${line#"$before"}")
  done
}
complete -F _drover drover
)bash";

const std::string_view kZshCompletion = R"zsh(#compdef drover
# zsh completion for drover: save as _drover in a directory in your $fpath, or run: source <(drover completion zsh)
_drover() {
  local program=${(Q)words[1]} line kind number
  local -a lines shown
  program=${program/#\~\//$HOME/}
  lines=("${(@f)$("$program" __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  kind=${lines[1]%% *}
  number=${lines[1]##* }
  case $kind in
    files)
      compset -p $number
      _files
      ;;
    folders)
      compset -p $number
      _files -/
      ;;
    program)
      shift $((number + 1)) words
      ((CURRENT -= number + 1))
      _normal
      return
      ;;
  esac
  for line in "${(@)lines[2,-1]}"; do
    shown+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  ((${#shown})) && _describe -t drover 'drover' shown
}
if [[ ${funcstack[1]} == _drover ]]; then
  _drover "$@"
else
  compdef _drover drover
fi
)zsh";

const std::string_view kFishCompletion =
    R"fish(# fish completion for drover: save as ~/.config/fish/completions/drover.fish,
# or run: drover completion fish | source
function __drover_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $before[1])
    set -e before[1]
    set -l lines ($program __complete -- $before "$current" 2>/dev/null)
    test (count $lines) -gt 0; or return
    set -l head (string split ' ' -- $lines[1])
    set -e lines[1]
    switch $head[1]
        case files folders
            set -l flag (string sub -l $head[2] -- "$current")
            set -l begun (string sub -s (math $head[2] + 1) -- "$current")
            if test $head[1] = files
                set lines (__fish_complete_path "$begun") $lines
            else
                set lines (__fish_complete_directories "$begun" '') $lines
            end
            test -n "$flag"; and set lines $flag$lines
        case program
            set -l words $before
            for i in (seq $head[2])
                set -e words[1]
            end
            set lines (complete -C (string join ' ' -- (string escape -- $words) "$current")) $lines
    end
    test (count $lines) -gt 0; and printf '%s\n' $lines
end
complete -c drover -f -k -a '(__drover_complete)'
)fish";

}  // namespace drover
