#compdef clio
# Completes the words of clio in zsh. Made by: clio completions zsh

# What may stand in a place: sets `list`, or `kind` where that has to be looked up; fails for an unknown place.
_clio_place() {
    list=() kind=
    case $1 in
@PLACES@
        *) return 1 ;;
    esac
}

# Offers what fits the word being typed.
_clio_offer() {
    local word note
    case $kind in
        files) _files ;;
        folders) _files -/ ;;
        '') _describe -t words "$1" list ;;
        *)
            while IFS=$'\t' read -r word note; do
                list+=("${word//:/\\:}:$note")
            done < <(command clio __complete $kind 2>/dev/null)
            _describe -V -t words "$1" list
            ;;
    esac
}

_clio() {
    local cur=${words[CURRENT]} flag= head= verb= ended= kind= word
    local -i count=0
    local -a list optional valued
    optional=(@OPTIONAL@)
    valued=(@VALUED@)
    for word in "${(@)words[2,CURRENT-1]}"; do
        if [[ -n $flag ]]; then
            if (( ! ${optional[(Ie)$flag]} )) || [[ $word != -* ]]; then
                flag=
                continue
            fi
            flag=
        fi
        case $word in
            --) ended=1 ;;
            --*=*) ;;
            -?*) (( ${valued[(Ie)$word]} )) && flag=$word ;;
            *)
                if [[ -z $head ]]; then
                    case $word in
@ALIASES@
                        *) head=$word ;;
                    esac
                elif [[ -z $verb ]]; then
                    verb=$word
                else
                    (( count += 1 ))
                fi
                ;;
        esac
    done
    if [[ -n $ended ]]; then
        _files
        return
    fi
    (( ${optional[(Ie)$flag]} )) && [[ $cur == -* ]] && flag=
    if [[ -z $flag && $cur == --*=* ]]; then
        flag=${cur%%=*}
        compset -P '--*='
    fi
    if [[ -n $flag ]]; then
        _clio_place "value $head $verb $flag" || _clio_place "value $head $flag" || _clio_place "value $flag" || return
        _clio_offer value
    elif [[ $cur == -* ]]; then
        local -a all=()
        { _clio_place "options $head $verb" || _clio_place "options $head" } && all+=("${list[@]}")
        _clio_place "flags${head:+ $head}" && all+=("${list[@]}")
        list=("${all[@]}") kind=
        _clio_offer flag
    elif [[ -z $head ]]; then
        _clio_place heads && _clio_offer command
    elif [[ -z $verb ]]; then
        _clio_place "verbs $head" && _clio_offer command
    else
        _clio_place "place $head $verb $((count + 1))" || _clio_place "place $head $verb more" || return
        _clio_offer argument
    fi
}

if [[ $funcstack[1] == _clio ]]; then
    _clio "$@"
elif (( $+functions[compdef] )); then
    compdef _clio clio
fi
