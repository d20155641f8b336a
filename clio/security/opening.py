"""From the configuration to the policy of one running clio."""

from clio.config.loaded import Loaded
from clio.security.approval import Policy
from clio.security.path_policy import Workspace


def open_policy(loaded: Loaded, workspace: Workspace) -> Policy:
    """What judges the model's calls: by the mode and the rules of the configuration."""
    config = loaded.config
    return Policy(
        workspace,
        config.approve,
        allow=config.allow,
        deny=config.deny,
        private_network=config.private_network,
        incognito=config.incognito,
        clio_home=loaded.home,
    )
