// Operations of the API from its OpenAPI description. The last list is cached, so that shell completion needs no
// requests.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Api } from '../account/api.ts';
import { userFolder } from '../local/locations.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell } from '../terminal/shell.ts';
import { ask } from './requests.ts';

/** An operation. */
interface Operation {
  readonly method: string;
  /** With parameters: `/projects/{id}`. */
  readonly path: string;
  readonly summary: string;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const PATHS_MAX = 5000;

/** All operations of the API. */
export async function operationsOf(shell: Shell, api: Api): Promise<Operation[]> {
  const described = await ask<{ paths?: Record<string, Record<string, { summary?: string }>> }>(
    api,
    'GET',
    '/openapi.json',
  );
  const operations = Object.entries(described.paths ?? {})
    .slice(0, PATHS_MAX)
    .flatMap(([at, methods]) =>
      METHODS.filter((method) => methods[method] !== undefined).map((method) => ({
        method: method.toUpperCase(),
        path: plain(at),
        summary: plain(String(methods[method]?.summary ?? '')),
      })),
    );
  try {
    mkdirSync(path.dirname(fileOf(shell)), { recursive: true, mode: 0o700 });
    writeFileSync(fileOf(shell), [...new Set(operations.map((one) => one.path))].join('\n'));
  } catch {
    // Affects only completion.
  }
  return operations;
}

/** Cached paths of the last used API. */
export function knownPaths(shell: Shell): string[] {
  try {
    return readFileSync(fileOf(shell), 'utf8')
      .split('\n')
      .filter((line) => /^\/[\w/{}.-]*$/.test(line));
  } catch {
    return [];
  }
}

function fileOf(shell: Shell): string {
  return path.join(userFolder(shell), 'api-paths');
}
