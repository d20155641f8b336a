# Completes the words of clio in fish. Made by: clio completions fish

# Prints what may stand in a place, each with what it means; $argv[2] is put before each.
function __clio_place -d 'clio: what may stand in a place'
    set -l list
    set -l kind
    switch "$argv[1]"
@PLACES@
        case '*'
            return 1
    end
    switch "$kind"
        case files
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- (commandline -ct)) | string replace -r '^' -- "$argv[2]"
        case folders
            __fish_complete_directories (string replace -r '^--[^=]*=' '' -- (commandline -ct)) | string replace -r '^' -- "$argv[2]"
        case ''
            printf '%s\n' $argv[2]$list
        case '*'
            command clio __complete $kind 2>/dev/null | string replace -r '^' -- "$argv[2]"
    end
    return 0
end

function __clio_complete -d 'clio: what may stand here'
    set -l cur (commandline -ct)
    set -l words (commandline -opc)
    set -l flag
    set -l head
    set -l verb
    set -l count 0
    set -l optional @OPTIONAL@
    set -l valued @VALUED@
    for word in $words[2..]
        if test -n "$flag"
            if not contains -- $flag $optional; or not string match -q -- '-*' $word
                set flag
                continue
            end
            set flag
        end
        switch $word
            case --
                __fish_complete_path $cur
                return
            case '--*=*'
            case '-?*'
                contains -- $word $valued; and set flag $word
            case '*'
                if test -z "$head"
                    switch $word
@ALIASES@
                        case '*'
                            set head $word
                    end
                else if test -z "$verb"
                    set verb $word
                else
                    set count (math $count + 1)
                end
        end
    end
    set -l start ''
    if test -n "$flag"; and contains -- $flag $optional; and string match -q -- '-*' $cur
        set flag
    end
    if test -z "$flag"; and string match -q -- '--*=*' $cur
        set flag (string replace -r '=.*' '' -- $cur)
        set start $flag=
    end
    if test -n "$flag"
        __clio_place "value $head $verb $flag" $start
        or __clio_place "value $head $flag" $start
        or __clio_place "value $flag" $start
    else if string match -q -- '-*' $cur
        __clio_place "options $head $verb" ''
        or __clio_place "options $head" ''
        __clio_place (string join -n ' ' flags $head) ''
    else if test -z "$head"
        __clio_place heads ''
    else if test -z "$verb"
        __clio_place "verbs $head" ''
    else
        __clio_place "place $head $verb "(math $count + 1) ''
        or __clio_place "place $head $verb more" ''
    end
end

complete -c clio -f -k -a '(__clio_complete)'
