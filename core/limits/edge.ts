// Limits of the edge, which gets certificates. Part of core/limits.ts; not imported elsewhere.
import type { Bounds } from './bound.ts';

const MINUTE_MS = 60_000;

export const edgeBounds = {
  certificatesPerWeek: [
    'EDGE_CERTIFICATES_PER_WEEK',
    40,
    'New certificates per week for hosts below `HANDLER_DOMAIN`; 0: none, as when the certificate is a file',
    0,
  ],
  asksPerSecond: [
    'EDGE_ASKS_PER_SECOND',
    50,
    'Hosts per second for which Caddy can request certificates; more get none',
  ],
  authorityMsMax: [
    'EDGE_AUTHORITY_MS_MAX',
    3000,
    'Timeout of the check that the certificate authority responds; if it fails, no certificate is requested',
  ],
  retryMs: ['EDGE_RETRY_MS', MINUTE_MS, 'Pause after a failed certificate request for a host; doubles each time'],
  retryMsMax: ['EDGE_RETRY_MS_MAX', 60 * MINUTE_MS, 'Longest pause after failed certificate requests'],
  hostsRemembered: ['EDGE_HOSTS_REMEMBERED', 10_000, 'Hosts whose failed certificate requests are remembered'],
} satisfies Bounds;
