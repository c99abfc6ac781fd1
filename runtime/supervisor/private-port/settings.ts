// Address and access of the private port: HANDLER_PRIVATE_PORT, HOST, PRIVATE_PORT_TOKEN, validated. Pure except for
// a generated token.
import { isPrivateAddress } from '#core/private-address.ts';
import { parseInteger } from '#core/parse-integer.ts';

/** Settings of the private port. */
export interface PrivatePortSettings {
  /** 0 = a free port. */
  readonly port: number;
  readonly host: string;
  /** Opens every route. */
  readonly token: string;
}

const DEFAULT_PORT = 8081;
const TOKEN_CHARS_MIN = 16;

/**
 * The settings; null when the port is switched off (`HANDLER_PRIVATE_PORT=off`).
 *
 * @param makeToken makes a token if none is set. A token is also required on this machine, because untrusted builds run
 * there. @throws {Error} that names the variable, its value and the solution.
 */
export function privatePortSettings(
  environment: Readonly<Record<string, string | undefined>>,
  makeToken: () => string,
): PrivatePortSettings | null {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const given = get('HANDLER_PRIVATE_PORT');
  if (given.toLowerCase() === 'off') return null;
  const what = '"off" or a port';
  const port = given === '' ? DEFAULT_PORT : parseInteger('HANDLER_PRIVATE_PORT', given, { most: 65_535, what });
  const host = get('HOST') || '127.0.0.1';
  const token = get('PRIVATE_PORT_TOKEN');
  if (token === '' && !isInside(host)) {
    throw new Error(
      `HOST is ${host}, which others may reach, and PRIVATE_PORT_TOKEN is not set: set a token of at least ${TOKEN_CHARS_MIN} characters ` +
        '(`openssl rand -hex 32`), bind HOST to 127.0.0.1 or a private address, or switch the port off with HANDLER_PRIVATE_PORT=off',
    );
  }
  // The message does not contain the token itself.
  if (token !== '' && (token.length < TOKEN_CHARS_MIN || !/^[\x21-\x7e]+$/.test(token)))
    throw new Error(`PRIVATE_PORT_TOKEN must have at least ${TOKEN_CHARS_MIN} visible ASCII characters`);
  return { port, host, token: token === '' ? makeToken() : token };
}

/**
 * Whether an address belongs to this machine or a private network. False for names other than `localhost`, whose
 * addresses are unknown.
 */
function isInside(host: string): boolean {
  return host === 'localhost' || isPrivateAddress(host);
}

/** The URL of a port on this machine. */
export function originOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return host.includes(':') ? `http://[${host}]:${port}` : `http://${host}:${port}`;
}

/** An error that tells the operator why the port was not opened. */
export function portFailure({ port, host }: PrivatePortSettings, error: NodeJS.ErrnoException): Error {
  if (error.code === 'EADDRINUSE')
    return new Error(
      `Private port ${port} is taken: stop what listens there, or set HANDLER_PRIVATE_PORT (0: a free one, off: none)`,
    );
  return new Error(`The private port cannot be opened on ${host}: ${error.message}`, { cause: error });
}
