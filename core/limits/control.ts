// Limits of the management API. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type Bounds } from './bound.ts';

export const controlBounds = {
  requestsPerMinute: [
    'API_RATE_LIMIT',
    1200,
    'Requests a minute to the API of one token, or of one account by session',
  ],
  anonymousRequestsPerMinute: [
    'API_RATE_LIMIT_ANONYMOUS',
    120,
    'Requests a minute to the API without a valid token or session, of one address (of IPv6: of one /64)',
  ],
  logFollowersMax: ['API_LOG_FOLLOWERS_MAX', 500, 'Build logs that are followed at a time'],
  accessAgainMs: [
    'API_ACCESS_AGAIN_MS',
    5000,
    'Interval at which open streams and sockets of the API check access again',
  ],
  idempotencyMs: ['API_IDEMPOTENCY_MS', DAY_MS, 'How long the answer to a request with `Idempotency-Key` is kept'],
  organizationsMax: ['API_ORGANIZATIONS_MAX', 20, 'Organizations that one account owns'],
  membersMax: ['API_MEMBERS_MAX', 200, 'Members and open invitations of an organization'],
  projectsMax: ['API_PROJECTS_MAX', 2000, 'Projects of an organization'],
  tokensMax: ['API_TOKENS_MAX', 100, 'Valid tokens of an account'],
  webhooksMax: ['API_WEBHOOKS_MAX', 20, 'Webhooks of an organization'],
  drainsMax: ['API_DRAINS_MAX', 5, 'Log drains of a project'],
  aiProvidersMax: ['API_AI_PROVIDERS_MAX', 20, 'AI providers of an organization'],
  alertRulesMax: ['API_ALERT_RULES_MAX', 20, 'Alert rules of a project, and of the operator'],
  alertChannelsMax: ['API_ALERT_CHANNELS_MAX', 10, 'Channels of alerts of a project, and of the operator'],
  drainLinesMax: ['DRAIN_BATCH_LINES_MAX', 1000, 'Lines that a log drain sends at a time'],
  drainBytesMax: [
    'DRAIN_BATCH_BYTES_MAX',
    1 * MB,
    'Text of the lines that a log drain sends at a time; a longer line goes alone',
  ],
  domainsMax: ['API_DOMAINS_MAX', 50, 'Custom domains of a project'],
  domainRecheckMs: ['API_DOMAIN_RECHECK_MS', DAY_MS / 4, 'After which a custom domain that serves is looked up again'],
  domainGraceMs: [
    'API_DOMAIN_GRACE_MS',
    3 * DAY_MS,
    'How long a custom domain serves that has no proof in the DNS any more',
  ],
  variablesMax: ['API_VARIABLES_MAX', 128, 'Variables of a project in one scope; of a branch, for that branch'],
  variableBytesMax: ['API_VARIABLE_BYTES_MAX', 5 * KB, 'The value of a variable'],
} satisfies Bounds;
