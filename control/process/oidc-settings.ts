// Settings of the OpenID Connect provider (`OIDC_*`), checked at start. Problems name the variable, never the secret.
import type { GroupRole, GroupRule, OidcSettings } from '../access/oidc/provider.ts';
import { groupProblem, listOf } from './variable-groups.ts';

/** Roles without `owner`: an organization has exactly one owner, whom no group can appoint. */
const GROUP_ROLES = ['admin', 'member', 'viewer'] as const satisfies readonly GroupRole[];
const NAMES = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const;
const OPTIONS = ['OIDC_NAME', 'OIDC_SCOPES', 'OIDC_DOMAINS', 'OIDC_GROUPS_CLAIM', 'OIDC_GROUPS'] as const;
const SCOPES = 'openid email profile';
const RULES_MAX = 200;
const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;
const RULE = /^(.{1,200})=([a-z0-9][a-z0-9-]{0,62}):(\w+)$/;

/** @returns null if no provider is set. @throws {Error} with one line per problem. */
export function oidcSettingsFrom(environment: Readonly<Record<string, string | undefined>>): OidcSettings | null {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const stray = OPTIONS.find((name) => get(name) !== '');
  if (NAMES.every((name) => get(name) === '')) {
    if (stray !== undefined) throw new Error(`${stray} is set, but ${NAMES.join(', ')} are not: set them as well`);
    return null;
  }
  const problems: (string | null)[] = [
    groupProblem(environment, NAMES),
    issuerProblem(get('OIDC_ISSUER')),
    /^[^\p{Cc}]{0,40}$/u.test(get('OIDC_NAME')) ? null : 'OIDC_NAME must have at most 40 characters, on one line',
    /^[\x21-\x7e]{0,100}$/.test(get('OIDC_GROUPS_CLAIM'))
      ? null
      : 'OIDC_GROUPS_CLAIM must be the name of one claim, such as groups',
  ];
  const scopes = get('OIDC_SCOPES')
    .split(/[\s,]+/)
    .filter((scope) => scope !== '');
  const isScoped = scopes.length === 0 || scopes.includes('openid');
  if (!isScoped || scopes.some((scope) => !/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(scope)))
    problems.push('OIDC_SCOPES must be a list of scopes that includes openid, such as openid email profile groups');
  const domains = listOf(get('OIDC_DOMAINS').toLowerCase());
  for (const domain of domains)
    if (!DOMAIN.test(domain)) problems.push(`OIDC_DOMAINS has "${domain}": write domains such as example.com`);
  const groups = listOf(get('OIDC_GROUPS')).map((text): GroupRule => {
    const [, group = '', organization = '', word = ''] = RULE.exec(text) ?? [];
    const role = GROUP_ROLES.find((one) => one === word);
    if (role === undefined)
      problems.push(`OIDC_GROUPS has "${text}": write group=organization:role, with ${GROUP_ROLES.join(', ')} as role`);
    return { group, organization, role: role ?? 'viewer' };
  });
  if (groups.length > RULES_MAX) problems.push(`OIDC_GROUPS has ${groups.length} entries: at most ${RULES_MAX}`);
  const found = problems.filter((problem) => problem !== null);
  if (found.length > 0) throw new Error(found.join('\n'));
  const issuer = new URL(get('OIDC_ISSUER'));
  return {
    issuer: issuer.href,
    clientId: get('OIDC_CLIENT_ID'),
    clientSecret: get('OIDC_CLIENT_SECRET'),
    name: get('OIDC_NAME') || issuer.host,
    scopes: scopes.length === 0 ? SCOPES : scopes.join(' '),
    domains,
    groupsClaim: get('OIDC_GROUPS_CLAIM') || 'groups',
    groups,
  };
}

/** Plain HTTP is for a provider on this machine: its keys decide who signs in. */
function issuerProblem(text: string): string | null {
  if (text === '') return null;
  const url = URL.parse(text);
  const isHere = url !== null && /^(?:localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname);
  const isPlain = url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (isPlain && (url.protocol === 'https:' || (url.protocol === 'http:' && isHere))) return null;
  return 'OIDC_ISSUER must be an https address without a query, such as https://login.example.com (http: for localhost)';
}
