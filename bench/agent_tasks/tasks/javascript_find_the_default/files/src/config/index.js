import { DEFAULTS } from "./defaults.js";
import { PROFILES } from "./profiles.js";

/** Defaults, then the profile, then what the environment names; empty variables do not count. */
export function settings(env) {
  const chosen = { ...DEFAULTS, ...PROFILES[env.RELAY_PROFILE] };
  if (env.RELAY_INFLIGHT) {
    chosen.inflight = Number(env.RELAY_INFLIGHT);
  }
  return chosen;
}
