// Limits of the edge, which gets certificates. Part of core/limits.ts; not imported elsewhere.
import type { LimitDefinitions } from './definition.ts';

const MINUTE_MS = 60_000;

export const edgeLimits = {
  certificatesPerWeek: [
    'EDGE_CERTIFICATES_PER_WEEK',
    40,
    'New certificates per week for hosts below `HANDLER_DOMAIN`; 0 means none, for example if the certificate is a file',
    0,
  ],
  asksPerSecond: [null, 50, 'Certificate checks of Caddy per second; further checks are refused'],
  authorityMsMax: [
    null,
    3000,
    'How long to wait for the certificate authority before a certificate request is skipped',
  ],
  retryMs: ['EDGE_RETRY_MS', MINUTE_MS, 'Pause after a failed certificate request for a host; doubles each time'],
  retryMsMax: ['EDGE_RETRY_MS_MAX', 60 * MINUTE_MS, 'Longest pause after failed certificate requests'],
  hostsRemembered: [null, 10_000, 'Hosts whose certificate failures are remembered'],
} satisfies LimitDefinitions;
