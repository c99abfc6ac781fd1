// Checks the password or the bypass token before a preview serves anything. People use a form, programs a header or a
// query parameter; both then get a cookie that is signed for the project. Workers never receive this header, parameter
// or cookie. Called by gates.ts.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { escapeHtml, pageOf } from '#core/error-page.ts';
import { errorMessage } from '#core/errors.ts';
import type { RouteProtection } from '#core/manifest.ts';
import { isPreviewBypass, isPreviewPassword } from '#core/preview-access.ts';
import { prefersPage } from './page-preference.ts';
import { cookieValues } from './cookies.ts';
import { pageBlock } from './error-pages.ts';
import type { Exchange } from './listener.ts';
import type { PreviewAttempts } from './preview-attempts.ts';

/** Request header in which programs send the token. The query parameter has the same name. */
export const BYPASS_NAME = 'x-platform-protection-bypass';
/** Path to which the form is posted. */
const LOGIN_PATH = '/_platform/preview';

const PASSED_MS = 7 * 24 * 60 * 60_000;
const FORM_BYTES_MAX = 8192;
const TOKEN_CHARS_MAX = 512;
const FORM_POLICY = "form-action 'self'; frame-ancestors 'none'";
const NO_STORE = 'cache-control\0no-store\0x-robots-tag\0noindex\0referrer-policy\0no-referrer\0';

/** Dependencies. */
export interface ProtectionDeps {
  /** A secret that no worker knows. */
  readonly secret: Uint8Array;
  readonly protocol: 'http' | 'https';
  readonly attempts: PreviewAttempts;
  /** The client's address, as reported by trusted proxies. */
  readonly addressOf: (exchange: Exchange) => string;
  readonly now?: () => number;
}

/** Checks requests to previews, and responds to those that may not pass. */
interface Protection {
  /** Name of the cookie, depending on the protocol. */
  readonly cookieName: string;
  /** Whether a request may pass. Otherwise, the response is sent, now or later. */
  passes(exchange: Exchange, project: string, protection: RouteProtection): boolean;
}

export function createProtection({
  secret,
  protocol,
  attempts,
  addressOf,
  now = Date.now,
}: ProtectionDeps): Protection {
  const isSecure = protocol === 'https';
  // With this prefix, neither other hosts nor pages without https can set the cookie.
  const cookieName = isSecure ? '__Host-platform-preview' : 'platform-preview';

  /** The signature depends on the password and the token, so that changing one of them invalidates all cookies. */
  function signatureOf(project: string, { passwordHash, bypassHash = '' }: RouteProtection, until: string): Buffer {
    const text = ['preview', project, passwordHash, bypassHash, until].join('\n');
    return createHmac('sha256', secret).update(text).digest();
  }

  function isPassed(block: string, project: string, protection: RouteProtection): boolean {
    return cookieValues(block, cookieName).some((value) => {
      const [, until, given] = /^([0-9a-z]{8,9})\.([\w-]{43})$/.exec(value) ?? [];
      if (until === undefined || given === undefined || Number.parseInt(until, 36) <= now()) return false;
      return timingSafeEqual(Buffer.from(given, 'base64url'), signatureOf(project, protection, until));
    });
  }

  function cookieFor(project: string, protection: RouteProtection): string {
    const until = (now() + PASSED_MS).toString(36);
    const value = `${until}.${signatureOf(project, protection, until).toString('base64url')}`;
    const attributes = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${PASSED_MS / 1000}${isSecure ? '; Secure' : ''}`;
    return `set-cookie\0${cookieName}=${value}; ${attributes}\0`;
  }

  const isToken = ({ bypassHash }: RouteProtection, token: string | null): boolean =>
    bypassHash !== undefined && token !== null && token.length <= TOKEN_CHARS_MAX && isPreviewBypass(bypassHash, token);

  async function logIn(exchange: Exchange, project: string, protection: RouteProtection, form: string): Promise<void> {
    const fields = new URLSearchParams(form);
    const next = ownPath(fields.get('next') ?? '/');
    const address = addressOf(exchange);
    const waitSeconds = attempts.begin(project, address);
    if (waitSeconds > 0) {
      refuse(exchange, 429, next, 'preview_attempts_exceeded', waitSeconds);
      return;
    }
    let isRight = false;
    try {
      isRight = await isPreviewPassword(protection.passwordHash, (fields.get('password') ?? '').slice(0, 1000));
    } finally {
      attempts.end(project, address, isRight);
    }
    if (isRight) exchange.send(303, `${NO_STORE}location\0${next}\0${cookieFor(project, protection)}`, null);
    else refuse(exchange, 401, next, 'preview_protected', 0, 'This password is wrong.');
  }

  return {
    cookieName,
    passes(exchange, project, protection) {
      const { target, method } = exchange;
      const [path = '', query = ''] = split(target);
      if (path === LOGIN_PATH && method === 'POST') {
        readForm(exchange, (form) => {
          if (form === null) exchange.send(413, NO_STORE, null);
          else void logIn(exchange, project, protection, form);
        });
        return false;
      }
      if (isToken(protection, exchange.header(BYPASS_NAME))) return true;
      if (query.includes(BYPASS_NAME)) {
        const parameters = new URLSearchParams(query);
        const passed = isToken(protection, parameters.get(BYPASS_NAME));
        parameters.delete(BYPASS_NAME);
        const rest = ownPath(parameters.size === 0 ? path : `${path}?${parameters.toString()}`);
        if (passed) exchange.send(307, `${NO_STORE}location\0${rest}\0${cookieFor(project, protection)}`, null);
        else refuse(exchange, 401, rest, 'preview_protected', 0);
        return false;
      }
      if (path !== LOGIN_PATH && isPassed(exchange.headerBlock, project, protection)) return true;
      refuse(exchange, 401, path === LOGIN_PATH ? '/' : ownPath(target), 'preview_protected', 0);
      return false;
    },
  };
}

function split(target: string): [path: string, query: string] {
  const at = target.indexOf('?');
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)];
}

/** The given path, if it is on this host and safe in a header; otherwise `/`. */
function ownPath(path: string): string {
  return path.length <= 2000 && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) ? path : '/';
}

/** The body of a form; null if it is too large or has no declared length. */
function readForm(exchange: Exchange, onForm: (form: string | null) => void): void {
  const { bodyBytes } = exchange;
  if (bodyBytes === 0) return onForm('');
  if (bodyBytes < 0 || bodyBytes > FORM_BYTES_MAX) return onForm(null);
  const chunks: Uint8Array[] = [];
  exchange.readBody({
    chunk: (bytes) => chunks.push(Buffer.from(bytes)) > 0,
    end: () => onForm(Buffer.concat(chunks).toString('utf8')),
  });
}

function refuse(
  exchange: Exchange,
  status: 401 | 429,
  next: string,
  code: 'preview_protected' | 'preview_attempts_exceeded',
  retryAfterSeconds: number,
  said = '',
): void {
  const retry = retryAfterSeconds === 0 ? '' : `retry-after\0${retryAfterSeconds}\0`;
  const head = `${NO_STORE}x-platform-error\0${code}\0${retry}`;
  const message = errorMessage(code, { retryAfterSeconds });
  const block = `${head}content-type\0application/json\0`;
  if (!prefersPage(exchange)) {
    exchange.send(status, block, JSON.stringify({ error: message, code }));
    return;
  }
  const text = status === 429 ? message : said;
  const form = `<form method="post" action="${LOGIN_PATH}"><input type="hidden" name="next" value="${escapeHtml(next)}"><label>Password<input type="password" name="password" autocomplete="current-password" autofocus required></label><button>Continue</button></form><p role="alert">${escapeHtml(text)}</p>`;
  const page = pageOf(null, { title: 'This preview is protected', text: 'Enter the password to see it.' }, form);
  exchange.send(status, pageBlock(block, FORM_POLICY), page);
}
