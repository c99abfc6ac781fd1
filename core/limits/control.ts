// Limits of the management API. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type Bounds } from './bound.ts';

export const controlBounds = {
  requestsPerMinute: ['API_RATE_LIMIT', 1200, 'API requests per minute for a token, or for all sessions of an account'],
  anonymousRequestsPerMinute: [
    'API_RATE_LIMIT_ANONYMOUS',
    120,
    'API requests per minute without a valid token or session, per IP address (IPv6: per /64)',
  ],
  logFollowersMax: ['API_LOG_FOLLOWERS_MAX', 500, 'Build logs that can be followed at the same time'],
  accessAgainMs: [
    'API_ACCESS_AGAIN_MS',
    5000,
    'Interval at which open streams and sockets of the API check access again',
  ],
  idempotencyMs: ['API_IDEMPOTENCY_MS', DAY_MS, 'How long the response to a request with `Idempotency-Key` is stored'],
  organizationsMax: ['API_ORGANIZATIONS_MAX', 20, 'Organizations that an account can own'],
  membersMax: ['API_MEMBERS_MAX', 200, 'Members and open invitations per organization'],
  projectsMax: ['API_PROJECTS_MAX', 2000, 'Projects per organization'],
  tokensMax: ['API_TOKENS_MAX', 100, 'Valid tokens per account'],
  webhooksMax: ['API_WEBHOOKS_MAX', 20, 'Webhooks per organization'],
  drainsMax: ['API_DRAINS_MAX', 5, 'Log drains per project'],
  aiProvidersMax: ['API_AI_PROVIDERS_MAX', 20, 'AI providers per organization'],
  alertRulesMax: ['API_ALERT_RULES_MAX', 20, 'Alert rules per project, and for the operator'],
  alertChannelsMax: ['API_ALERT_CHANNELS_MAX', 10, 'Alert channels per project, and for the operator'],
  drainLinesMax: ['DRAIN_BATCH_LINES_MAX', 1000, 'Lines that a log drain sends in one batch'],
  drainBytesMax: [
    'DRAIN_BATCH_BYTES_MAX',
    1 * MB,
    'Text that a log drain sends in one batch; a longer line is sent alone',
  ],
  domainsMax: ['API_DOMAINS_MAX', 50, 'Custom domains per project'],
  domainRecheckMs: [
    'API_DOMAIN_RECHECK_MS',
    DAY_MS / 4,
    'Interval at which the DNS of active custom domains is checked again',
  ],
  domainGraceMs: [
    'API_DOMAIN_GRACE_MS',
    3 * DAY_MS,
    'How long a custom domain keeps working after its ownership record disappeared from the DNS',
  ],
  variablesMax: ['API_VARIABLES_MAX', 128, 'Variables per project and scope, and per branch'],
  variableBytesMax: ['API_VARIABLE_BYTES_MAX', 5 * KB, "Size of a variable's value"],
} satisfies Bounds;
