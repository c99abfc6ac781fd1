// Sends an email to a mail server, or only signs in to it. Each attempt has a separate connection, to addresses that
// were checked, with a deadline. Used by send-mail.ts. Errors contain no password; `reply` is for operators only.
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { Transporter } from 'nodemailer';
import { isPublicAddress } from '#core/egress.ts';
import type { Sender, SmtpServer } from '#core/mail-target.ts';
import { createResolve } from '#core/outbound/host-names.ts';
import type { Resolve } from '#core/outbound/post.ts';
import type { Mail, MailResult } from '../process/mailer.ts';

const ATTEMPT_MS_MAX = 20_000;
const STEP_MS_MAX = 10_000;
const RESPONSE_BYTES_MAX = 64 * 1024;
const REPLY_CHARS_MAX = 200;
const byName: Resolve = createResolve();

/** Errors of nodemailer. */
interface SmtpError extends Error {
  readonly code?: string;
  /** Node's code of the error; `code` is nodemailer's own code. */
  readonly originalCode?: string;
  readonly responseCode?: number;
  readonly response?: string;
  readonly command?: string;
}

/** Sends an email. Never throws. @param resolve for tests. */
export function sendBySmtp(server: SmtpServer, from: Sender, mail: Mail, resolve?: Resolve): Promise<MailResult> {
  const { to, subject, text } = mail;
  const use = (transport: Transporter): Promise<unknown> =>
    transport.sendMail({
      from,
      to: { name: '', address: to },
      envelope: { from: from.address, to: [to] },
      subject,
      text,
      // Asks the recipient's server to send no vacation replies.
      headers: { 'auto-submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  return attempt(server, from, resolve, use, [to]);
}

/** Signs in without sending an email. Never throws. */
export function checkSmtp(server: SmtpServer, from: Sender, resolve?: Resolve): Promise<MailResult> {
  return attempt(server, from, resolve, (transport) => transport.verify());
}

async function attempt(
  server: SmtpServer,
  from: Sender,
  resolve: Resolve = byName,
  use: (transport: Transporter) => Promise<unknown>,
  /** Texts that a reply must not repeat, in addition to the login. */
  hidden: readonly string[] = [],
): Promise<MailResult> {
  const { host, port, tls, login } = server;
  // The library is loaded for the first email.
  const { createTransport } = await import('nodemailer');
  let socket: Socket | null = null;
  let isLate = false;
  // nodemailer only limits each step, so a server that sends a byte from time to time would keep a connection open.
  const deadline = setTimeout(() => {
    isLate = true;
    socket?.destroy();
  }, ATTEMPT_MS_MAX);
  const transport = createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'off',
    tls: { minVersion: 'TLSv1.2' },
    ...(login !== null && { auth: { user: login.user, pass: login.password }, forceAuth: true }),
    // The name in the greeting; by default, the library would send the name of this machine.
    name: from.address.slice(from.address.lastIndexOf('@') + 1),
    connectionTimeout: STEP_MS_MAX,
    greetingTimeout: STEP_MS_MAX,
    socketTimeout: STEP_MS_MAX,
    maxResponseSize: RESPONSE_BYTES_MAX,
    getSocket(_options, callback) {
      open(server, resolve, (opened) => (socket = opened)).then(
        (connection) => callback(null, { connection }),
        (error: Error) => callback(error),
      );
    },
  });
  try {
    await use(transport);
    return { status: 250, error: null, isTemporary: false, reply: null };
  } catch (error) {
    return resultOf(error as SmtpError, isLate, [...hidden, ...secretsOf(login)]);
  } finally {
    clearTimeout(deadline);
    transport.close();
    // The connection is closed even after a mere sign-in, because its QUIT needs no reply.
    (socket as Socket | null)?.destroySoon();
  }
}

/** @throws {Error} with a `code`. */
function open({ host, port, tls }: SmtpServer, resolve: Resolve, onOpen: (socket: Socket) => void): Promise<Socket> {
  return new Promise((done, fail) => {
    // A name may resolve to a public address although its server is meant to be private.
    const lookup: LookupFunction = (name, options, callback) => {
      resolve(name).then(
        (found) => {
          const allowed = found.filter(({ address }) => tls !== 'off' || !isPublicAddress(address));
          const [first] = allowed;
          if (first === undefined) callback(Object.assign(new Error('public address'), { code: 'EPUBLIC' }), '');
          else if (options.all === true) callback(null, [...allowed]);
          else callback(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, ''),
      );
    };
    const socket = connect({ host, port, ...(isIP(host) === 0 && { lookup }) });
    onOpen(socket);
    // This also handles errors after the library has released the connection.
    socket.on('error', () => {});
    const timer = setTimeout(
      () => socket.destroy(Object.assign(new Error('late'), { code: 'ETIMEDOUT' })),
      STEP_MS_MAX,
    );
    const end = (error?: Error): void => {
      clearTimeout(timer);
      socket.off('error', end).off('connect', end).off('close', closed);
      if (error === undefined) done(socket);
      else fail(error);
    };
    const closed = (): void => end(Object.assign(new Error('closed'), { code: 'ETIMEDOUT' }));
    socket
      .once('connect', () => end())
      .once('error', end)
      .once('close', closed);
  });
}

function resultOf(error: SmtpError, isLate: boolean, hidden: readonly string[]): MailResult {
  const { responseCode: status = null, response } = error;
  const isRefused = status !== null && status >= 500;
  const reply = response === undefined ? null : plainReply(response, hidden);
  if (isLate) return { status: null, error: LATE, isTemporary: true, reply };
  const isSignIn = error.code === 'EAUTH';
  const text =
    status === null ? reasonOf(error) : `The mail server ${refusalOf(error)} (${statusIn(response, status)})`;
  return { status, error: text, isTemporary: !isRefused && !(isSignIn && status === null), reply };
}

const LATE = `No answer within ${ATTEMPT_MS_MAX / 1000} s`;

/** `550`, or `550 5.1.1`. */
function statusIn(response: string | undefined, status: number): string {
  const [, detail] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? '') ?? [];
  return detail === undefined ? String(status) : `${status} ${detail}`;
}

function refusalOf({ code, command = '' }: SmtpError): string {
  if (code === 'EAUTH') return 'refused the user name or the password';
  if (code === 'ETLS' || command === 'STARTTLS') return 'offers no STARTTLS';
  if (command.startsWith('RCPT')) return 'refused the recipient';
  if (command.startsWith('MAIL')) return 'refused the sender';
  return 'refused the email';
}

function reasonOf({ code = '', originalCode, message }: SmtpError): string {
  const cause = originalCode ?? code;
  if (code === 'EPUBLIC') return 'TLS may only be off for a private address, and the name of the mail server is public';
  if (code === 'EAUTH') return 'The mail server offers no sign-in method that the platform supports';
  if (code === 'ETIMEDOUT') return `No answer within ${STEP_MS_MAX / 1000} s`;
  if (code === 'ECONNECTION') return 'The mail server closed the connection';
  if (code === 'EPROTOCOL') return 'The mail server sent an invalid reply';
  if (code === 'EENVELOPE') return 'The mail server does not support this address';
  if (/CERT|ALTNAME|SELF_SIGNED|ISSUER|SIGNATURE/.test(cause))
    return `The certificate of the mail server is not valid: ${cause}`;
  if (cause.startsWith('ERR_SSL_')) return `TLS to the mail server failed: ${cause}`;
  if (code === 'ETLS')
    return /certificate/i.test(message)
      ? 'The certificate of the mail server is not valid'
      : 'TLS to the mail server failed';
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(cause)
    ? `No connection to the mail server: ${cause}`
    : 'No connection to the mail server';
}

/** The password as text, and in the encodings of AUTH PLAIN and AUTH LOGIN, which a server may repeat in its reply. */
function secretsOf(login: SmtpServer['login']): string[] {
  if (login === null) return [];
  const { user, password } = login;
  return [password, ...[`\0${user}\0${password}`, password].map((text) => Buffer.from(text).toString('base64'))];
}

/** The reply as one line, without the hidden texts. */
function plainReply(response: string, hidden: readonly string[]): string {
  const line = response.replace(/[\p{C}\s]+/gu, ' ').slice(0, 4 * REPLY_CHARS_MAX);
  return hidden
    .reduce((text, secret) => text.replaceAll(secret, '...'), line)
    .slice(0, REPLY_CHARS_MAX)
    .trim();
}
