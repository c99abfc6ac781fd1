// Parses AUTH_MAIL_URL and MAIL_FROM: where the platform delivers emails, and their sender. Pure. No message contains a
// part of the URL, which may contain a password.
import { isIP } from 'node:net';
import { isPublicAddress } from './egress.ts';

/** A mail server. */
export interface SmtpServer {
  readonly kind: 'smtp';
  readonly host: string;
  readonly port: number;
  /**
   * TLS from the first byte on (`smtps:`), an upgrade by STARTTLS, or no encryption, which is only allowed for private
   * addresses.
   */
  readonly tls: 'implicit' | 'starttls' | 'off';
  /** Null means that the server requires no sign-in. */
  readonly login: { readonly user: string; readonly password: string } | null;
}

/** The target of emails: an HTTP endpoint for JSON, or a mail server. */
type MailTarget = { readonly kind: 'post'; readonly url: string } | SmtpServer;

/** The sender of emails. */
export interface Sender {
  /** Display name of the sender, or ''. */
  readonly name: string;
  readonly address: string;
}

/** Where emails are sent, and their sender; if `target` is null, no emails are sent. */
export interface MailSettings {
  readonly target: MailTarget | null;
  /** The sender; always set if the target is a mail server. */
  readonly from: Sender | null;
}

const ADDRESS_CHARS_MAX = 254;
/** One address without a name: characters that separate or quote addresses in a header are not allowed. */
const ADDRESS = /^[^\s\p{C}@<>,;:"()[\]\\]+@[^\s\p{C}@<>,;:"()[\]\\]+$/u;
const SENDER = /^(?:(?<name>[^\p{C}<>"@,;:\\]{1,100}?) *<(?<inner>[^<>]+)>|(?<plain>[^<>]+))$/u;
const EXAMPLE = 'smtp://user:password@mail.example.com:587';

/** Whether a text is one email address. */
export function isMailAddress(text: string): boolean {
  return text.length <= ADDRESS_CHARS_MAX && ADDRESS.test(text);
}

/**
 * Settings from `AUTH_MAIL_URL` and `MAIL_FROM`.
 *
 * @param get value of a variable; '' if it is not set. @throws {Error} that names the variable and the expected value.
 */
export function mailSettingsFrom(get: (name: string) => string): MailSettings {
  const url = get('AUTH_MAIL_URL');
  const sender = get('MAIL_FROM');
  const from = sender === '' ? null : parseSender(sender);
  const target = url === '' ? null : parseMailTarget(url);
  if (target?.kind === 'smtp' && from === null)
    throw new Error('MAIL_FROM is not set, but AUTH_MAIL_URL is a mail server: set it, such as platform@example.com');
  return { target, from };
}

/** @throws {Error} */
function parseSender(text: string): Sender {
  const { name = '', inner, plain } = SENDER.exec(text)?.groups ?? {};
  const address = inner ?? plain ?? '';
  if (isMailAddress(address)) return { name: name.trim(), address };
  throw new Error(
    'MAIL_FROM must be an email address, such as platform@example.com or Platform <platform@example.com>',
  );
}

/** @throws {Error} */
function parseMailTarget(text: string): MailTarget {
  const fail = (what: string): Error => new Error(`AUTH_MAIL_URL ${what}`);
  const url = URL.parse(text);
  if (url === null || !/^(?:https?|smtps?):$/.test(url.protocol))
    throw fail('must begin with http:// or https:// or smtp:// or smtps://');
  if (url.protocol.startsWith('http')) {
    if (url.username !== '' || url.password !== '')
      throw fail('must not hold a user or a password with http: put a secret into its path');
    return { kind: 'post', url: text };
  }
  const host = decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '');
  if (host === '' || !/^[A-Za-z0-9:._-]+$/.test(host)) throw fail(`must name a host, such as ${EXAMPLE}`);
  if ((url.pathname !== '' && url.pathname !== '/') || url.hash !== '')
    throw fail(`must end after the port, such as ${EXAMPLE}`);
  const isOff = url.search === '?tls=off';
  if (url.search !== '' && (!isOff || url.protocol === 'smtps:'))
    throw fail('may only end in ?tls=off, and only with smtp://');
  if (isOff && isIP(host) !== 0 && isPublicAddress(host))
    throw fail('may only turn TLS off for a private address: remove ?tls=off');
  const login = loginOf(url);
  if (login === null && url.username !== '')
    throw fail('must hold a user and a password, or neither; write special characters as %40 for @');
  const isImplicit = url.protocol === 'smtps:';
  return {
    kind: 'smtp',
    host,
    port: url.port === '' ? (isImplicit ? 465 : 587) : Number(url.port),
    tls: isImplicit ? 'implicit' : isOff ? 'off' : 'starttls',
    login,
  };
}

function loginOf({ username, password }: URL): SmtpServer['login'] {
  try {
    const login = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
    return login.user === '' || login.password === '' || /\p{Cc}/u.test(login.user + login.password) ? null : login;
  } catch {
    return null;
  }
}
