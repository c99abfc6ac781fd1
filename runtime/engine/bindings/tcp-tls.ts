// TLS options that a worker may choose for its sockets, validated. Used by tcp.ts.
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { invalid, toRecord } from './arguments.ts';

/** Texts of certificates and keys of one connection. Parsing these texts takes time on the main thread. */
const PEM_CHARS_MAX = 64 * 1024;
const PROTOCOLS_MAX = 16;
const VERSIONS = ['TLSv1.2', 'TLSv1.3'];

/**
 * @param host the host that the worker connects to. The certificate must have this name, unless `servername` is another
 * name.
 * @throws {PlatformError} `invalid_argument`.
 */
export function toTlsOptions(given: unknown, host: string): ConnectionOptions {
  const { servername, ca, cert, key, passphrase, rejectUnauthorized, anyName, alpn, minVersion, maxVersion } = toRecord(
    given ?? {},
  );
  const name = servername === undefined ? host : toText(servername, 'servername', 253);
  const pems = { ca: toPems(ca, 'ca'), cert: toPems(cert, 'cert'), key: toPems(key, 'key') };
  const chars = Object.values(pems).reduce((sum, list) => sum + (list ?? []).join('').length, 0);
  if (chars > PEM_CHARS_MAX)
    throw invalid(`Certificates and keys have ${chars} characters, and may have ${PEM_CHARS_MAX}`);
  return {
    // An address cannot be sent as a server name (RFC 6066), but the certificate must still contain it.
    ...(isIP(name) === 0 ? { servername: name } : { host: name }),
    rejectUnauthorized: rejectUnauthorized !== false,
    // With `anyName`, the worker checks the certificate's name itself.
    ...(anyName === true ? { checkServerIdentity: () => undefined } : {}),
    ...Object.fromEntries(Object.entries(pems).filter(([, list]) => list !== undefined)),
    ...(passphrase === undefined ? {} : { passphrase: toText(passphrase, 'passphrase', 1024) }),
    ...(alpn === undefined ? {} : { ALPNProtocols: toProtocols(alpn) }),
    ...(minVersion === undefined ? {} : { minVersion: toVersion(minVersion, 'minVersion') }),
    ...(maxVersion === undefined ? {} : { maxVersion: toVersion(maxVersion, 'maxVersion') }),
  };
}

function toText(value: unknown, what: string, charsMax: number): string {
  if (typeof value !== 'string' || value.length > charsMax || value.includes('\0'))
    throw invalid(`${what} must be a string of at most ${charsMax} characters`);
  return value;
}

function toPems(value: unknown, what: string): string[] | undefined {
  if (value === undefined) return undefined;
  const list = Array.isArray(value) ? value : [value];
  if (!list.every((one) => typeof one === 'string')) throw invalid(`${what} must be PEM texts`);
  return list;
}

function toProtocols(value: unknown): string[] {
  if (
    !Array.isArray(value) ||
    value.length > PROTOCOLS_MAX ||
    !value.every((name) => typeof name === 'string' && /^[\x21-\x7e]{1,255}$/.test(name))
  )
    throw invalid('The ALPN protocols are not valid');
  return value as string[];
}

function toVersion(value: unknown, what: string): 'TLSv1.2' | 'TLSv1.3' {
  if (typeof value !== 'string' || !VERSIONS.includes(value)) throw invalid(`${what} must be TLSv1.2 or TLSv1.3`);
  return value as 'TLSv1.2';
}
