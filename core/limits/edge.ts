// Limits of the edge, which gets certificates. Part of core/limits.ts; not imported elsewhere.
import type { Bounds } from './bound.ts';

const MINUTE_MS = 60_000;

export const edgeBounds = {
  certificatesPerWeek: [
    'EDGE_CERTIFICATES_PER_WEEK',
    40,
    'New certificates in seven days for hosts below `HANDLER_DOMAIN`; 0: none, as with a certificate by file',
    0,
  ],
  asksPerSecond: ['EDGE_ASKS_PER_SECOND', 50, 'Names that Caddy asks about in a second; those above it get none'],
  authorityMsMax: [
    'EDGE_AUTHORITY_MS_MAX',
    3000,
    'For an answer of the authority, without which no certificate is asked for',
  ],
  retryMs: ['EDGE_RETRY_MS', MINUTE_MS, 'After a failure the authority is asked again for a host; doubled each time'],
  retryMsMax: ['EDGE_RETRY_MS_MAX', 60 * MINUTE_MS, 'Longest such pause'],
  hostsRemembered: ['EDGE_HOSTS_REMEMBERED', 10_000, 'Hosts of which failures are remembered'],
} satisfies Bounds;
