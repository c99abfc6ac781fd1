// The parts list of a release archive (SPDX 2.3, JSON): each package with its version, license and checksum.
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Licenses that packages do not name by an SPDX expression. */
const spelledOut: Readonly<Record<string, string>> = { 'MIT OR Apache': 'MIT OR Apache-2.0' };

/** A package of package-lock.json. */
export interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
}

/**
 * @param folder the content of the archive, with `node_modules`.
 * @param packages by their folders, such as `node_modules/pg`.
 * @param seconds the time of the release, in seconds since 1970.
 */
export function partsList(
  name: string,
  folder: string,
  packages: Readonly<Record<string, LockedPackage>>,
  seconds: number,
): Record<string, unknown> {
  const parts = Object.entries(packages)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([place, { version, integrity }]) => {
      const manifest = JSON.parse(readFileSync(path.join(folder, place, 'package.json'), 'utf8')) as {
        readonly name: string;
        readonly license?: unknown;
      };
      return {
        SPDXID: `SPDXRef-${place.replaceAll(/[^A-Za-z0-9.]+/g, '-')}`,
        name: manifest.name,
        versionInfo: version,
        downloadLocation: 'NOASSERTION',
        filesAnalyzed: false,
        licenseConcluded: 'NOASSERTION',
        licenseDeclared:
          typeof manifest.license === 'string' ? (spelledOut[manifest.license] ?? manifest.license) : 'NOASSERTION',
        copyrightText: 'NOASSERTION',
        ...(integrity !== undefined && { checksums: [checksumOf(integrity)] }),
        externalRefs: [
          {
            referenceCategory: 'PACKAGE-MANAGER',
            referenceType: 'purl',
            referenceLocator: `pkg:npm/${manifest.name.replace('@', '%40')}@${version}`,
          },
        ],
      };
    });
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name,
    documentNamespace: `urn:platform:${name}`,
    creationInfo: {
      created: new Date(seconds * 1000).toISOString().replace('.000Z', 'Z'),
      creators: ['Tool: npm run pack'],
    },
    packages: parts,
    relationships: parts.map(({ SPDXID }) => ({
      spdxElementId: 'SPDXRef-DOCUMENT',
      relationshipType: 'DESCRIBES',
      relatedSpdxElement: SPDXID,
    })),
  };
}

/** Converts `sha512-<base64>` of a lockfile to the format of SPDX. */
function checksumOf(integrity: string): { readonly algorithm: string; readonly checksumValue: string } {
  const [algorithm = '', value = ''] = integrity.split('-', 2);
  return { algorithm: algorithm.toUpperCase(), checksumValue: Buffer.from(value, 'base64').toString('hex') };
}
