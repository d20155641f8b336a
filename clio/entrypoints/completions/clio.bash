# Completes the words of clio in bash, from 3.2 on. Made by: clio completions bash

# What may stand in a place: sets `list`, or `kind` where that has to be looked up; fails for an unknown place.
_clio_place() {
    list= kind=
    case $1 in
@PLACES@
        *) return 1 ;;
    esac
}

# Puts what fits the word being typed into COMPREPLY.
_clio_offer() {
    local word rest
    case $kind in
        files | folders)
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do
                COMPREPLY+=("$word")
            done < <(if [[ $kind == files ]]; then compgen -f -- "$cur"; else compgen -d -- "$cur"; fi)
            ;;
        '')
            for word in $list; do
                [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
            done
            ;;
        *)
            while IFS=$'\t' read -r word rest; do
                [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
            done < <(command clio __complete "$kind" 2>/dev/null)
            ;;
    esac
}

_clio() {
    local cur flag= head= verb= count=0 ended= list= kind= word glue= index start
    local -a words=()
    local IFS=$' \t\n'
    COMPREPLY=()
    # bash takes a word apart at "=" and ":"; here it is put together again.
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if ((index > 1)) && [[ $glue || $word =~ ^[:=]+$ ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        glue=
        [[ $word =~ ^[:=]+$ ]] && glue=1
    done
    cur=${words[${#words[@]} - 1]}
    for ((index = 1; index < ${#words[@]} - 1; index++)); do
        word=${words[index]}
        if [[ $flag ]]; then
            case " @OPTIONAL@ " in
                *" $flag "*) [[ $word == -* ]] || { flag=; continue; } ;;
                *) flag=; continue ;;
            esac
            flag=
        fi
        case $word in
            --) ended=1 ;;
            --*=*) ;;
            -?*) case " @VALUED@ " in *" $word "*) flag=$word ;; esac ;;
            *)
                if [[ ! $head ]]; then
                    case $word in
@ALIASES@
                        *) head=$word ;;
                    esac
                elif [[ ! $verb ]]; then
                    verb=$word
                else
                    ((count++))
                fi
                ;;
        esac
    done
    if [[ $ended ]]; then
        kind=files
        _clio_offer
        return
    fi
    start=
    case " @OPTIONAL@ " in *" $flag "*) [[ $cur == -* ]] && flag= ;; esac
    if [[ ! $flag && $cur == --*=* ]]; then
        flag=${cur%%=*}
        start=$flag=
        cur=${cur#*=}
    fi
    if [[ $flag ]]; then
        _clio_place "value $head $verb $flag" || _clio_place "value $head $flag" || _clio_place "value $flag" || return
        _clio_offer
    elif [[ $cur == -* ]]; then
        _clio_place "flags${head:+ $head}" && _clio_offer
        { _clio_place "options $head $verb" || _clio_place "options $head"; } && _clio_offer
    elif [[ ! $head ]]; then
        _clio_place heads && _clio_offer
    elif [[ ! $verb ]]; then
        _clio_place "verbs $head" && _clio_offer
    else
        _clio_place "place $head $verb $((count + 1))" || _clio_place "place $head $verb more" || return
        _clio_offer
    fi
    # What bash takes for an earlier word is not repeated.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        word=${cur%"${cur##*:}"}
        for ((index = 0; index < ${#COMPREPLY[@]}; index++)); do
            COMPREPLY[index]=${COMPREPLY[index]#"$word"}
        done
    fi
    if [[ $start && $COMP_WORDBREAKS != *=* ]]; then
        for ((index = 0; index < ${#COMPREPLY[@]}; index++)); do
            COMPREPLY[index]=$start${COMPREPLY[index]}
        done
    fi
}

complete -F _clio clio
