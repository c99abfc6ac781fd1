// Reads the certificates that Caddy has stored; later reads only load changed certificates. Used by edge.ts; no key is
// read.
import { X509Certificate } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A stored certificate. */
export interface StoredCertificate {
  readonly issuer: string;
  /** Milliseconds. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/**
 * @param folder Caddy's storage. @param directory URL of the authority, because Caddy does not use certificates of
 * other authorities. Null means Let's Encrypt. @returns a function that reads all certificates, by host.
 */
export function createCertificateReader(
  folder: string,
  directory: string | null,
): () => Promise<ReadonlyMap<string, StoredCertificate>> {
  const known = new Map<string, { readonly stamp: string; readonly certificate: StoredCertificate }>();
  return async () => {
    const found = new Map<string, StoredCertificate>();
    const seen = new Set<string>();
    const root = join(folder, 'certificates', issuerFolder(directory));
    for (const host of await namesIn(root)) {
      const file = join(root, host, `${host}.crt`);
      const certificate = await readOne(file).catch(() => null);
      if (certificate === null) continue;
      seen.add(file);
      found.set(host, certificate);
    }
    for (const file of known.keys()) if (!seen.has(file)) known.delete(file);
    return found;
  };

  async function readOne(file: string): Promise<StoredCertificate> {
    const { mtimeMs, size } = await stat(file);
    const stamp = `${mtimeMs} ${size}`;
    const before = known.get(file);
    if (before?.stamp === stamp) return before.certificate;
    const certificate = parseCertificate(await readFile(file));
    known.set(file, { stamp, certificate });
    return certificate;
  }
}

/** The first certificate of a PEM file. @throws {Error} for invalid content. */
export function parseCertificate(pem: Uint8Array): StoredCertificate & { readonly names: readonly string[] } {
  const { issuer, validFromDate, validToDate, subjectAltName = '' } = new X509Certificate(pem);
  const field = (name: string): string | undefined => new RegExp(`^${name}=(.+)$`, 'm').exec(issuer)?.[1];
  return {
    issuer: (field('O') ?? field('CN') ?? issuer).slice(0, 200),
    notBefore: validFromDate.getTime(),
    notAfter: validToDate.getTime(),
    names: [...subjectAltName.matchAll(/DNS:([^,\s]+)/g)].map(([, name]) => name!.toLowerCase()),
  };
}

/** The name of Caddy's folder for an authority. */
function issuerFolder(directory: string | null): string {
  const { host, pathname } = new URL(directory ?? 'https://acme-v02.api.letsencrypt.org/directory');
  const path = pathname.replace(/[/\\]/g, '-').replace(/^-+|-+$/g, '');
  return `${host}${path === '' ? '' : `-${path}`}`.toLowerCase().replaceAll(':', '-');
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
}
