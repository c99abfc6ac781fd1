// Limits of the management API. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type LimitDefinitions } from './definition.ts';

export const controlLimits = {
  requestsPerMinute: ['API_RATE_LIMIT', 1200, 'API requests per minute for a token, or for all sessions of an account'],
  anonymousRequestsPerMinute: [
    'API_RATE_LIMIT_ANONYMOUS',
    120,
    'API requests per minute without a valid token or session, per IP address (IPv6: per /64)',
  ],
  gitCallsMax: ['GIT_CALLS_MAX', 64, 'Concurrent Git pushes and fetches; an account can use a quarter of them'],
  gitMemoryMbMax: ['GIT_MEMORY_MB', 1024, 'Address space of a Git program that serves a push or fetch, in MB'],
  gitCpuSecondsMax: ['GIT_CPU_SECONDS', 600, 'CPU time of a Git program that serves a push or fetch'],
  logFollowersMax: [null, 500, 'Build logs that are followed at a time'],
  accessAgainMs: [null, 5000, 'Interval at which open streams and sockets of the API check access again'],
  idempotencyMs: [null, DAY_MS, 'How long the answer to a request with `Idempotency-Key` is kept'],
  organizationsMax: ['API_ORGANIZATIONS_MAX', 20, 'Organizations that an account can own'],
  membersMax: ['API_MEMBERS_MAX', 200, 'Members and open invitations per organization'],
  projectsMax: ['API_PROJECTS_MAX', 2000, 'Projects per organization'],
  tokensMax: [null, 100, 'Valid tokens of an account'],
  webhooksMax: [null, 20, 'Webhooks of an organization'],
  drainsMax: [null, 5, 'Log drains of a project'],
  aiProvidersMax: [null, 20, 'AI providers of an organization'],
  alertRulesMax: [null, 20, 'Alert rules of a project, and of the operator'],
  alertChannelsMax: [null, 10, 'Channels of alerts of a project, and of the operator'],
  drainLinesMax: [null, 1000, 'Lines that a log drain sends at a time'],
  drainBytesMax: [null, 1 * MB, 'Text of the lines that a log drain sends at a time; a longer line goes alone'],
  domainsMax: ['API_DOMAINS_MAX', 50, 'Custom domains per project'],
  domainRecheckMs: [null, DAY_MS / 4, 'After which a custom domain that serves is looked up again'],
  domainGraceMs: [null, 3 * DAY_MS, 'How long a custom domain serves that has no proof in the DNS any more'],
  variablesMax: ['API_VARIABLES_MAX', 128, 'Variables per project and scope, and per branch'],
  variableBytesMax: [null, 5 * KB, 'The value of a variable'],
} satisfies LimitDefinitions;
