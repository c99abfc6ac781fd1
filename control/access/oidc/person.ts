// Reads a person from the claims of an ID token and of the userinfo endpoint, which may have any content. Pure.
import { Failure } from '#core/failure.ts';
import type { OidcPerson } from './provider.ts';

type Claims = Readonly<Record<string, unknown>>;

/** OpenID Connect allows 255 ASCII characters. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/;
const GROUP_CHARS_MAX = 200;
const ADDRESS = /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u;

/** The subject of an ID token. @throws {Failure} `oidc_refused` without a valid subject. */
export function subjectOf({ sub }: Claims): string {
  if (typeof sub === 'string' && SUBJECT.test(sub)) return sub;
  throw new Failure('oidc_refused', 'The provider sent no valid subject ("sub")', { why: 'subject' });
}

/**
 * The person of an ID token. Missing claims are taken from userinfo.
 *
 * @throws {Failure} `oidc_refused` if the groups cannot be read: a person must not keep roles because of that.
 */
export function personFrom(idToken: Claims, userinfo: Claims, groupsClaim: string): OidcPerson {
  const text = (name: string, charsMax: number): string | null => {
    const values = [idToken[name], userinfo[name]].map((one) => (typeof one === 'string' ? printed(one) : ''));
    return values.find((value) => value !== '')?.slice(0, charsMax) ?? null;
  };
  // The address and its confirmation come from the same source, because one source must not confirm the address of
  // another.
  const mail = [idToken, userinfo].find(({ email }) => typeof email === 'string' && ADDRESS.test(email));
  const email = mail === undefined ? null : (mail['email'] as string);
  const isShort = email !== null && email.length <= 320;
  // Some providers send `email_verified` as text.
  const isVerified = mail?.['email_verified'] === true || mail?.['email_verified'] === 'true';
  const picture = text('picture', 500);
  return {
    issuer: new URL(String(idToken['iss'])).href,
    subject: subjectOf(idToken),
    username: text('preferred_username', 100),
    name: text('name', 200) ?? '',
    email: isShort ? email : null,
    isEmailVerified: isShort && isVerified,
    avatarUrl: picture !== null && /^https?:\/\//.test(picture) ? picture : null,
    groups: groupsOf(idToken, userinfo, groupsClaim),
  };
}

/** Returns a text without control characters, which Postgres or a terminal may not accept. */
function printed(text: string): string {
  return text.replace(/\p{Cc}/gu, '').trim();
}

function groupsOf(idToken: Claims, userinfo: Claims, claim: string): string[] {
  const value = idToken[claim] ?? userinfo[claim];
  if (value === undefined || value === null) {
    // Providers that cannot fit all groups into the token name a URL to request instead (aggregated claims).
    const elsewhere = [idToken, userinfo].some(({ _claim_names: names }) => Object.hasOwn(Object(names), claim));
    if (elsewhere) throw unreadable(`The provider omitted "${claim}": the person has too many groups`);
    return [];
  }
  const groups: unknown[] = Array.isArray(value) ? value : [value];
  if (groups.every((group) => typeof group === 'string'))
    return groups.filter((group) => group.length <= GROUP_CHARS_MAX);
  throw unreadable(`The claim "${claim}" is not a list of names`);
}

function unreadable(message: string): Failure<'oidc_refused'> {
  return new Failure('oidc_refused', message, { why: 'groups' });
}
