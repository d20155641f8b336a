"""`clio auth login|logout|status`: API keys in the system's keyring."""

import getpass
import sys
from collections.abc import Mapping, Sequence

from clio.commands.arguments import join_arguments, suggest_name
from clio.commands.command import select_subcommand
from clio.commands.subcommands import AUTH
from clio.config.loaded import LoadedConfig
from clio.config.paths import home_config
from clio.config.schema import KEYRING_KEY
from clio.errors import UsageError, UserError
from clio.providers.keyring_key import (
    check_key,
    delete_key,
    describe_keyring,
    is_recommended_keyring,
    read_stored_key,
    store_key,
)
from clio.providers.profiles import PRESETS, find_preset
from clio.text.translation import tr
from clio.ui.safe_text import clean
from clio.ui.terminal_text import print_text

_MAX_KEY_CHARS = 10_000


def run_auth(loaded: LoadedConfig, words: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one of the commands; return the exit code. Raises UsageError, and UserError if there is no keyring."""
    command, argument = select_subcommand(AUTH, join_arguments(words), "clio auth")
    if command is AUTH or command.name == "status":
        return _show_status(env)
    account = _find_account(argument)
    if command.name == "logout":
        if not read_stored_key(account):
            raise UserError(tr("the keyring has no key for {account}", account=account))
        delete_key(account)
        print_text(tr("Removed the key for {account} from the keyring.", account=account))
        return 0
    if loaded.config.incognito:
        raise UsageError(tr("incognito mode stores nothing, not even keys; leave out --incognito"))
    describe_keyring()  # before the user pastes a key that could not be stored
    key = check_key(_read_key(account))
    store_key(account, key)
    print_text(tr("Stored the key for {account} in {keyring}.", account=account, keyring=describe_keyring()))
    if not is_recommended_keyring():
        print_text(tr("warning: this keyring may store keys unencrypted; api_key_command can ask a password manager"))
    if loaded.config.api_key != KEYRING_KEY:
        file = home_config(loaded.home)
        print_text(tr("To use it: clio config set api_key keyring (writes {file})", file=clean(str(file))))
    return 0


def _find_account(argument: str) -> str:
    """Return the server that a key is for: a preset, or the host of an address."""
    name = argument.strip().lower()
    if find_preset(name) is not None or ("." in name and "/" not in name and " " not in name):
        return name
    names = [preset.name for preset in PRESETS]
    if not name:
        raise UsageError(tr("For which server? Write clio auth login SERVER: {names}", names=", ".join(names[:4])))
    near = suggest_name(name, names, otherwise=tr("give a provider's name, or the host of an address"))
    raise UsageError(tr("There is no server {name!r}; {near}", name=argument, near=near))


def _read_key(account: str) -> str:
    """Read a key that is not displayed; from a pipe, its first line."""
    if not (sys.stdin and sys.stdin.isatty()):
        return sys.stdin.readline(_MAX_KEY_CHARS) if sys.stdin else ""
    try:
        return getpass.getpass(tr("API key for {account} (it is not shown): ", account=account))
    except (EOFError, KeyboardInterrupt):
        raise UsageError(tr("nothing was changed")) from None


def _show_status(env: Mapping[str, str]) -> int:
    print_text(tr("keyring: {name}", name=describe_keyring()))
    for preset in PRESETS:
        variable, key = preset.find_key(env)
        if read_stored_key(preset.name):
            print_text(f"  {preset.name:<14}  {tr('in the keyring')}")
        if key:
            print_text(f"  {preset.name:<14}  {tr('environment {variable}', variable=variable)}")
    return 0
