// The content address of an artifact: computed by the builder, verified by the handler. Pure.
import { createHash } from 'node:crypto';
import type { Manifest } from './manifest.ts';

/** SHA-256 in hex. */
export function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** JSON with sorted keys and without spaces: equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson((value as Record<string, unknown>)[key])}`).join(',')}}`;
}

/** The id of the artifact with this manifest. */
export function artifactId(manifest: Manifest): string {
  return hashOf(canonicalJson(manifest));
}
