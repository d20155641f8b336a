# Completes the words of clio in fish. Made by: clio completions fish

# Prints what may stand in a place, each with what it means; $argv[2] is put before each.
function __clio_place -d 'clio: what may stand in a place'
    set -l list
    set -l kind
    switch "$argv[1]"
        case 'heads'
            set list 'init'\t'create .clio/ with settings and instructions' 'config'\t'list, get and set settings; trust this project\'s' 'doctor'\t'check your setup' 'completions'\t'print the completion script for that shell' 'upgrade'\t'look for a newer version and install it' 'acp'\t'serve an editor over ACP: Zed, JetBrains, Neovim' 'mcp'\t'serve this memory over MCP; manage MCP servers' 'auth'\t'API keys in the keyring: login, logout, status' 'config'\t'settings: get, set, unset' 'cost'\t'spending by day and by project' 'docs'\t'documents that are included when relevant' 'feedback'\t'rate the last answer: +, - or 0' 'gc'\t'disk usage; --yes deletes what is no longer needed' 'import'\t'import sessions of claude, codex, gemini, aider, specstory, clio' 'jobs'\t'tasks that go on after the terminal is closed: start, list, ...' 'memory'\t'list, search and edit the memory of this project' 'note'\t'notes stored under a key' 'plugin'\t'skills, hooks, servers from repositories: add, update' 'prefs'\t'your preferences and hard limits' 'recall'\t'search all memory' 'schedule'\t'tasks at set times, by cron or systemd: add, list, remove' 'sessions'\t'sessions of this project: list, search, export, ...' 'skills'\t'instructions for certain tasks: list, show, new, add' 'style'\t'response styles and how you rated them' 'sync'\t'have one memory on several machines, through git' 'team-server'\t'memory of a team, in PostgreSQL: tokens, import, ...' 'worktree'\t'git worktrees beside this checkout: list, remove'
        case 'flags'
            set list '--prompt'\t'answer one prompt and exit; piped text is appended' '--output'\t'form of the answer: text, json or stream-json' '--input'\t'format of piped input: text or stream-json' '--json-schema'\t'require JSON that matches the schema in this file' '--cwd'\t'start in this folder instead of the current one' '--worktree'\t'start in this git worktree; created if missing' '--continue'\t'continue the latest session in this project' '--resume'\t'resume a session by id, name or number, or choose' '--fork'\t'with -c or -r: continue in a copy of the session' '--new'\t'start a new session' '--model'\t'the model\'s name' '--provider'\t'a named server, such as openai, ollama or offline' '--base-url'\t'the address of any other server' '--api'\t'protocol: auto, chat, responses or messages' '--effort'\t'reasoning effort: auto, or from none to max' '--context-window'\t'the model\'s context window in tokens' '--approve'\t'approval mode: ask, edits, all or plan' '--allow'\t'a command that may run unasked, as \'git log *\'' '--deny'\t'a command that never runs; both can be repeated' '--sandbox'\t'sandbox: auto, bwrap, landlock, seatbelt or off' '--max-steps'\t'maximum number of requests in one turn' '--max-cost'\t'maximum US dollars that this run may spend' '--no-ltm'\t'leave project memory out of the prompt' '--no-instructions'\t'leave out AGENTS.md and similar files' '--no-hooks'\t'do not run the commands in hooks.yaml' '--scenario'\t'task type, such as coding (default: detected)' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--screen-reader'\t'plain lines for a screen reader, without redrawing' '--debug'\t'show a traceback if clio fails' '--version'\t'print the version' '--help'\t'print this help'
        case 'value --output'
            set list 'text' 'json' 'stream-json'
        case 'value --input'
            set list 'text' 'stream-json'
        case 'value --json-schema'
            set kind files
        case 'value --cwd'
            set kind folders
        case 'value --worktree'
            set kind worktrees
        case 'value -r'
            set kind sessions
        case 'value --resume'
            set kind sessions
        case 'value -m'
            set kind models
        case 'value --model'
            set kind models
        case 'value --provider'
            set list 'openai' 'anthropic' 'gemini' 'openrouter' 'deepseek' 'mistral' 'groq' 'xai' 'moonshot' 'zai' 'minimax' 'azure' 'bedrock' 'vertex' 'github-models' 'ollama' 'lmstudio' 'llamacpp' 'vllm' 'offline'
        case 'value --api'
            set list 'auto' 'chat' 'responses' 'messages'
        case 'value --effort'
            set list 'auto' 'none' 'minimal' 'low' 'medium' 'high' 'xhigh' 'max'
        case 'value --approve'
            set list 'ask' 'edits' 'all' 'plan'
        case 'value --sandbox'
            set list 'auto' 'bwrap' 'landlock' 'seatbelt' 'off'
        case 'value --scenario'
            set kind scenarios
        case 'value --config'
            set kind files
        case 'flags init'
            set list '--cwd'\t'start in this folder instead of the current one' '--config'\t'read this file instead of the user\'s config.yaml' '--yes'\t'with `init` and `upgrade`: do not ask' '--dry-run'\t'with `init`: only show what would be written' '--help'\t'print this help'
        case 'verbs config'
            set list 'show'\t'print every setting and where it comes from' 'path'\t'print the paths of the configuration files' 'trust'\t'trust this project\'s config' 'get'\t'all settings in force, or one with what the files say' 'set'\t'set it in your own file, or in the project\'s' 'unset'\t'remove it from the file'
        case 'flags config'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'flags doctor'
            set list '--cwd'\t'start in this folder instead of the current one' '--model'\t'the model\'s name' '--provider'\t'a named server, such as openai, ollama or offline' '--base-url'\t'the address of any other server' '--api'\t'protocol: auto, chat, responses or messages' '--effort'\t'reasoning effort: auto, or from none to max' '--context-window'\t'the model\'s context window in tokens' '--approve'\t'approval mode: ask, edits, all or plan' '--allow'\t'a command that may run unasked, as \'git log *\'' '--deny'\t'a command that never runs; both can be repeated' '--sandbox'\t'sandbox: auto, bwrap, landlock, seatbelt or off' '--max-steps'\t'maximum number of requests in one turn' '--max-cost'\t'maximum US dollars that this run may spend' '--no-ltm'\t'leave project memory out of the prompt' '--no-instructions'\t'leave out AGENTS.md and similar files' '--no-hooks'\t'do not run the commands in hooks.yaml' '--scenario'\t'task type, such as coding (default: detected)' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--screen-reader'\t'plain lines for a screen reader, without redrawing' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--fetch-encodings'\t'with `doctor`: get exact token counts (4 MB)' '--live'\t'with `doctor`: ask the model once (costs money)' '--help'\t'print this help'
        case 'verbs completions'
            set list 'bash'\t'print the completion script for bash' 'zsh'\t'print the completion script for zsh' 'fish'\t'print the completion script for fish'
        case 'flags completions'
            set list '--help'\t'print this help'
        case 'flags upgrade'
            set list '--cwd'\t'start in this folder instead of the current one' '--config'\t'read this file instead of the user\'s config.yaml' '--json'\t'with `doctor` and most others: print JSON' '--check'\t'with `upgrade`: only look for a newer version' '--yes'\t'with `init` and `upgrade`: do not ask' '--help'\t'print this help'
        case 'flags acp'
            set list '--cwd'\t'start in this folder instead of the current one' '--model'\t'the model\'s name' '--provider'\t'a named server, such as openai, ollama or offline' '--base-url'\t'the address of any other server' '--api'\t'protocol: auto, chat, responses or messages' '--effort'\t'reasoning effort: auto, or from none to max' '--context-window'\t'the model\'s context window in tokens' '--approve'\t'approval mode: ask, edits, all or plan' '--allow'\t'a command that may run unasked, as \'git log *\'' '--deny'\t'a command that never runs; both can be repeated' '--sandbox'\t'sandbox: auto, bwrap, landlock, seatbelt or off' '--max-steps'\t'maximum number of requests in one turn' '--max-cost'\t'maximum US dollars that this run may spend' '--no-ltm'\t'leave project memory out of the prompt' '--no-instructions'\t'leave out AGENTS.md and similar files' '--no-hooks'\t'do not run the commands in hooks.yaml' '--scenario'\t'task type, such as coding (default: detected)' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--screen-reader'\t'plain lines for a screen reader, without redrawing' '--debug'\t'show a traceback if clio fails' '--help'\t'print this help'
        case 'flags mcp'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--read-only'\t'with `mcp`: offer only tools that change nothing' '--help'\t'print this help'
        case 'verbs auth'
            set list 'login'\t'store a server\'s API key in the keyring' 'logout'\t'remove it from the keyring' 'status'\t'the keyring in use, and which servers have a key'
        case 'flags auth'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options config set'
            set list '--project'
        case 'options config unset'
            set list '--project'
        case 'verbs cost'
            set list 'days'\t'costs per day, of this project or of all' 'projects'\t'costs per project in the last 30 days' 'prices'\t'the prices used' 'rebuild'\t'recalculate this project\'s costs from its sessions'
        case 'flags cost'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options cost days'
            set list '--all'
        case 'verbs docs'
            set list 'list'\t'list the documents and whether they are up to date' 'add'\t'add files or folders: text, Markdown, code' 'remove'\t'remove documents; the files stay' 'refresh'\t'read changed files again' 'search'\t'search the documents'
        case 'flags docs'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'place docs add 1'
            set kind files
        case 'place docs add more'
            set kind files
        case 'place docs remove 1'
            set kind files
        case 'place docs remove more'
            set kind files
        case 'place docs refresh 1'
            set kind files
        case 'place docs refresh more'
            set kind files
        case 'verbs feedback'
            set list '+'\t'the last answer was good' '-'\t'the last answer was not good' '0'\t'neutral; replaces your earlier rating' 'undo'\t'remove your rating of the last answer'
        case 'flags feedback'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'flags gc'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options gc'
            set list '--yes' '--caches' '--sessions-older-than'
        case 'verbs import'
            set list 'claude'\t'sessions of Claude Code and its sub-agents, then its notes one by one' 'codex'\t'sessions of Codex, then its notes one by one' 'gemini'\t'chats of Gemini CLI, then its saved memories' 'aider'\t'chats of aider: .aider.chat.history.md' 'specstory'\t'conversations saved by SpecStory: .specstory/history' 'clio'\t'sessions of the clio, or Perl original, in the project PATH'
        case 'flags import'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options import claude'
            set list '--all' '--since' '--facts' '--again' '--dry-run'
        case 'value import claude --facts'
            set list 'yes' 'no'
        case 'place import claude 1'
            set kind files
        case 'options import codex'
            set list '--all' '--since' '--facts' '--again' '--dry-run'
        case 'value import codex --facts'
            set list 'yes' 'no'
        case 'place import codex 1'
            set kind files
        case 'options import gemini'
            set list '--all' '--since' '--facts' '--again' '--dry-run'
        case 'value import gemini --facts'
            set list 'yes' 'no'
        case 'place import gemini 1'
            set kind files
        case 'options import aider'
            set list '--all' '--since' '--facts' '--again' '--dry-run'
        case 'value import aider --facts'
            set list 'yes' 'no'
        case 'place import aider 1'
            set kind files
        case 'options import specstory'
            set list '--all' '--since' '--facts' '--again' '--dry-run'
        case 'value import specstory --facts'
            set list 'yes' 'no'
        case 'place import specstory 1'
            set kind files
        case 'options import clio'
            set list '--all' '--since' '--facts' '--again' '--dry-run'
        case 'value import clio --facts'
            set list 'yes' 'no'
        case 'place import clio 1'
            set kind files
        case 'verbs jobs'
            set list 'list'\t'list all jobs and their states' 'start'\t'start a job in this project' 'show'\t'show a job, its question and its answer' 'logs'\t'show the end of what a job printed; --follow goes on until it ends' 'answer'\t'approve or decline what a job asks' 'stop'\t'end a job; its session keeps what was done' 'remove'\t'delete the records of ended jobs; their sessions stay'
        case 'flags jobs'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options jobs start'
            set list '--approve' '--max-cost' '--minutes' '--model' '--on-question'
        case 'value jobs start --approve'
            set list 'plan' 'ask' 'edits' 'all'
        case 'value jobs start --minutes'
            set kind jobs
        case 'value jobs start --model'
            set kind models
        case 'value jobs start --on-question'
            set list 'wait' 'refuse'
        case 'place jobs show 1'
            set kind jobs
        case 'options jobs logs'
            set list '--follow'
        case 'place jobs logs 1'
            set kind jobs
        case 'place jobs answer 1'
            set kind questions
        case 'place jobs answer 2'
            set list 'yes' 'no'
        case 'place jobs stop 1'
            set kind jobs
        case 'place jobs remove 1'
            set kind jobs
        case 'verbs mcp'
            set list '--http'\t'offer this memory over HTTP, with a token' 'list'\t'list the servers; --check starts each' 'show'\t'show one server' 'add'\t'add a server' 'remove'\t'remove a server' 'test'\t'start it and list its tools, resources and prompts' 'login'\t'log in to a server with OAuth' 'logout'\t'delete a server\'s login'
        case 'options mcp --http'
            set list '--port' '--host' '--allow-host' '--write' '--new-token' '--database'
        case 'value mcp --http --allow-host'
            set kind servers
        case 'options mcp list'
            set list '--check'
        case 'place mcp show 1'
            set kind servers
        case 'options mcp add'
            set list '--env' '--header' '--scope' '--url'
        case 'value mcp add --scope'
            set list 'project' 'user'
        case 'options mcp remove'
            set list '--scope'
        case 'value mcp remove --scope'
            set list 'project' 'user'
        case 'place mcp remove 1'
            set kind servers
        case 'place mcp test 1'
            set kind servers
        case 'options mcp login'
            set list '--browser' '--keyring'
        case 'place mcp login 1'
            set kind servers
        case 'place mcp logout 1'
            set kind servers
        case 'verbs memory'
            set list 'list'\t'all memories, kind by kind' 'search'\t'search memories of all kinds' 'show'\t'details of one memory' 'add'\t'save a memory of any kind; by default a project fact' 'edit'\t'change a memory; without a text, in the editor' 'forget'\t'move memories to the archive' 'remember'\t'save a fact, an event, a note or a preference' 'recall'\t'the memories that match a query, best first' 'move'\t'move a memory to the project, or to all your projects' 'restore'\t'bring a memory back from the archive' 'compact'\t'archive expired memories, merge duplicates' 'stats'\t'how many memories there are, their age and confidence' 'prune'\t'archive old or uncertain memories' 'why'\t'which memories the last turn used, and why' 'undo'\t'undo the last change of memory' 'open'\t'all memories as one HTML page in the browser' 'history'\t'the versions of a memory' 'changes'\t'what was learned, changed and archived' 'consolidate'\t'learn from earlier sessions now, or report what would be learned' 'log'\t'what the last consolidation did, or the last N' 'export'\t'export all memory to one file' 'import'\t'import an export of another clio, or an ltm.json' 'wipe'\t'delete memory permanently, after asking' 'share'\t'share project memory with a team through git'
        case 'flags memory'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options memory list'
            set list '--scope' '--limit' '--all'
        case 'value memory list --scope'
            set list 'project' 'user'
        case 'place memory show 1'
            set kind entries
        case 'options memory add'
            set list '--scope' '--confidence' '--example'
        case 'value memory add --scope'
            set list 'project' 'user'
        case 'value memory add --example'
            set kind files
        case 'place memory add 1'
            set list 'discovery' 'solution' 'pattern' 'workflow' 'failure' 'rule'
        case 'options memory edit'
            set list '--confidence' '--example'
        case 'value memory edit --example'
            set kind files
        case 'place memory edit 1'
            set kind entries
        case 'options memory forget'
            set list '--yes'
        case 'place memory forget 1'
            set kind entries
        case 'place memory forget more'
            set kind entries
        case 'options memory remember'
            set list '--type' '--importance' '--scope' '--keyword' '--example'
        case 'value memory remember --type'
            set list 'fact' 'preference' 'event' 'note'
        case 'value memory remember --scope'
            set list 'project' 'user'
        case 'value memory remember --example'
            set kind files
        case 'options memory recall'
            set list '--type' '--limit'
        case 'value memory recall --type'
            set list 'fact' 'preference' 'event' 'note'
        case 'place memory move 1'
            set kind entries
        case 'place memory move 2'
            set list 'project' 'user'
        case 'place memory restore 1'
            set kind entries
        case 'options memory prune'
            set list '--days' '--below' '--dry-run' '--yes'
        case 'options memory open'
            set list '--no-browser' '--force'
        case 'place memory history 1'
            set kind entries
        case 'options memory changes'
            set list '--since' '--kind' '--all'
        case 'value memory changes --kind'
            set list 'discovery' 'solution' 'pattern' 'workflow' 'failure' 'rule' 'fact' 'preference' 'event' 'note'
        case 'options memory consolidate'
            set list '--dry-run'
        case 'options memory export'
            set list '--what' '--force'
        case 'place memory export 1'
            set kind files
        case 'options memory import'
            set list '--scope' '--dry-run'
        case 'value memory import --scope'
            set list 'project' 'user'
        case 'place memory import 1'
            set kind files
        case 'options memory wipe'
            set list '--scope' '--sessions' '--dry-run' '--yes'
        case 'value memory wipe --scope'
            set list 'project' 'user' 'styles' 'all'
        case 'options memory share'
            set list '--gitignore' '--yes'
        case 'place memory share 1'
            set list 'on' 'off' 'add' 'status' 'tidy'
        case 'place memory share 2'
            set kind entries
        case 'place memory share more'
            set kind entries
        case 'verbs note'
            set list 'list'\t'all notes, newest first' 'show'\t'show a note' 'set'\t'save a text; replaces the note of that key' 'edit'\t'edit a note in the editor' 'search'\t'search notes' 'delete'\t'delete a note'
        case 'flags note'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'place note show 1'
            set kind notes
        case 'place note edit 1'
            set kind notes
        case 'place note delete 1'
            set kind notes
        case 'verbs plugin'
            set list 'list'\t'list the plugins and their commits' 'show'\t'show what it brings' 'add'\t'add one from OWNER/NAME, an address or a folder, in a shell' 'update'\t'show what has changed, and use it if you agree; in a shell' 'remove'\t'remove it with its files, in a shell'
        case 'flags plugin'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'place plugin show 1'
            set kind plugins
        case 'options plugin add'
            set list '--path' '--name' '--project' '--trust'
        case 'value plugin add --name'
            set kind plugins
        case 'options plugin update'
            set list '--trust'
        case 'place plugin update 1'
            set kind plugins
        case 'place plugin remove 1'
            set kind plugins
        case 'verbs prefs'
            set list 'add'\t'add a preference; never … and always … are rules' 'top'\t'those with the highest weight' 'show'\t'all preferences, or one in full' 'recall'\t'search preferences' 'update'\t'change fields of one' 'apply'\t'confirm those that were used' 'touch'\t'confirm one by its text' 'remove'\t'archive one' 'keywords'\t'all keywords, how often each is used' 'scenarios'\t'the task types and how many preferences each has' 'info'\t'number, file and decay' 'config'\t'show or set the decay' 'clear'\t'archive all'
        case 'flags prefs'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options prefs add'
            set list '--score' '--reason' '--keywords' '--scenarios' '--rule'
        case 'options prefs top'
            set list '--type' '--scenario'
        case 'value prefs top --type'
            set list 'preference' 'style' 'habit' 'aversion' 'taboo'
        case 'value prefs top --scenario'
            set kind scenarios
        case 'options prefs show'
            set list '--format'
        case 'value prefs show --format'
            set list 'context' 'table'
        case 'options prefs recall'
            set list '--type' '--scenario' '--min-score' '--limit' '--touch'
        case 'value prefs recall --type'
            set list 'preference' 'style' 'habit' 'aversion' 'taboo'
        case 'value prefs recall --scenario'
            set kind scenarios
        case 'options prefs update'
            set list '--item' '--score' '--reason' '--keywords' '--scenarios'
        case 'place prefs config 1'
            set list 'show' 'set-half-life' 'set-floor'
        case 'options prefs clear'
            set list '--yes'
        case 'flags recall'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options recall'
            set list '--layer' '--at' '--limit' '--fusion' '--all' '--why'
        case 'value recall --layer'
            set list 'L0' 'L1' 'L2'
        case 'value recall --fusion'
            set list 'convex' 'rrf'
        case 'verbs schedule'
            set list 'list'\t'list all schedules, and what is wrong' 'add'\t'show what would be written, ask, and run a task of this project at these times' 'remove'\t'remove a schedule, and its crontab lines or timer'
        case 'flags schedule'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options schedule add'
            set list '--print' '--yes' '--with' '--approve' '--max-cost' '--minutes' '--model' '--on-question'
        case 'value schedule add --with'
            set list 'cron' 'systemd'
        case 'value schedule add --approve'
            set list 'plan' 'ask' 'edits' 'all'
        case 'value schedule add --minutes'
            set kind schedules
        case 'value schedule add --model'
            set kind models
        case 'value schedule add --on-question'
            set list 'wait' 'refuse'
        case 'place schedule remove 1'
            set kind schedules
        case 'verbs sessions'
            set list 'list'\t'the sessions of this project, newest first' 'search'\t'search sessions; on a terminal Enter then resumes the best match' 'show'\t'one session: length, model, tokens, todos' 'name'\t'rename a session' 'fork'\t'copy a session' 'export'\t'export a session to a file' 'delete'\t'delete a session permanently'
        case 'flags sessions'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options sessions list'
            set list '--all'
        case 'options sessions search'
            set list '--why'
        case 'place sessions show 1'
            set kind sessions
        case 'place sessions name 1'
            set kind sessions
        case 'place sessions fork 1'
            set kind sessions
        case 'options sessions export'
            set list '--format' '--force' '--gist'
        case 'value sessions export --format'
            set list 'html' 'md' 'json'
        case 'place sessions export 1'
            set kind sessions
        case 'place sessions export 2'
            set kind files
        case 'options sessions delete'
            set list '--yes'
        case 'place sessions delete 1'
            set kind sessions
        case 'verbs skills'
            set list 'list'\t'list the skills and their files' 'use'\t'send it with this text' 'show'\t'show its text' 'new'\t'create one for this project, or for every project' 'add'\t'add the skills of a repository or folder, in a shell'
        case 'flags skills'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'place skills use 1'
            set kind skills
        case 'place skills show 1'
            set kind skills
        case 'options skills new'
            set list '--user'
        case 'options skills add'
            set list '--path' '--name' '--project' '--trust'
        case 'value skills add --name'
            set kind skills
        case 'verbs style'
            set list 'on'\t'let clio choose the style of each answer' 'off'\t'no styles; what was learned stays' 'list'\t'the styles and their ratings' 'use'\t'use one style for every answer' 'auto'\t'choose for each answer again' 'why'\t'how the last answer\'s style was chosen' 'show'\t'show one in full' 'reset'\t'forget what was learned, of one or of all' 'export'\t'what was learned, and your own styles, as JSON' 'delete'\t'delete one of your own styles'
        case 'flags style'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'place style use 1'
            set kind styles
        case 'place style show 1'
            set kind styles
        case 'place style reset 1'
            set kind styles
        case 'options style export'
            set list '--force'
        case 'place style export 1'
            set kind files
        case 'place style delete 1'
            set kind styles
        case 'verbs sync'
            set list 'init'\t'turn it on with an empty private repository, or that of your other machines' 'status'\t'what is synchronized, and how the last run ended' 'push'\t'get the changes of other machines and send those of this one' 'pull'\t'get the changes of other machines and send nothing' 'project'\t'add the memory of this project, and its sessions if you ask; --off ends that' 'off'\t'turn it off; nothing is deleted but the local clone'
        case 'flags sync'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options sync init'
            set list '--encrypt' '--key' '--yes'
        case 'options sync project'
            set list '--sessions' '--as' '--off'
        case 'verbs team-server'
            set list 'status'\t'what the database holds; without tables it creates them' 'token'\t'the members\' tokens: give one, list who has one, end one' 'import'\t'add the memories of this project; --own adds your own ones as those of a member' 'export'\t'write everything into a new folder, as the files clio keeps in a project' 'history'\t'every version of a memory, and who wrote it' 'undo'\t'undo the last change, or the last one of a member' 'restore'\t'bring a forgotten memory back'
        case 'flags team-server'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'options team-server status'
            set list '--database'
        case 'options team-server token'
            set list '--read-only'
        case 'options team-server import'
            set list '--own' '--database'
        case 'options team-server export'
            set list '--database'
        case 'options team-server history'
            set list '--member' '--database'
        case 'options team-server undo'
            set list '--member' '--database'
        case 'options team-server restore'
            set list '--member' '--database'
        case 'verbs worktree'
            set list 'list'\t'all worktrees, with uncommitted changes' 'remove'\t'delete a worktree\'s folder, if nothing would be lost; its branch stays'
        case 'flags worktree'
            set list '--cwd'\t'start in this folder instead of the current one' '--no-ltm'\t'leave project memory out of the prompt' '--incognito'\t'save nothing and use no memory' '--config'\t'read this file instead of the user\'s config.yaml' '--no-color'\t'no colour in the output' '--debug'\t'show a traceback if clio fails' '--json'\t'with `doctor` and most others: print JSON' '--help'\t'print this help'
        case 'place worktree remove 1'
            set kind worktrees
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
    set -l optional --prompt --resume -p -r
    set -l valued --allow --allow-host --api --approve --as --at --base-url --below --confidence --config --context-window --cwd --database --days --deny --effort --env --example --facts --format --fusion --header --host --importance --input --item --json-schema --key --keyword --keywords --kind --layer --limit --max-cost --max-steps --member --min-score --minutes --model --name --on-question --output --own --path --port --prompt --provider --reason --resume --sandbox --scenario --scenarios --scope --score --sessions-older-than --since --trust --type --url --what --with --worktree -m -p -r
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
                        case costs
                            set head cost
                        case job
                            set head jobs
                        case notes
                            set head note
                        case plugins
                            set head plugin
                        case preferences
                            set head prefs
                        case schedules
                            set head schedule
                        case session
                            set head sessions
                        case skill
                            set head skills
                        case styles
                            set head style
                        case worktrees
                            set head worktree
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
