export const PROFILES = {
  careful: { inflight: 4, retryMs: 10000 },
  bulk: { inflight: 64, batch: 500 },
};
