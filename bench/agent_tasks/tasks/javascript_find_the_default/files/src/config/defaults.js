export const DEFAULTS = {
  inflight: 16,
  batch: 100,
  retryMs: 2000,
};
