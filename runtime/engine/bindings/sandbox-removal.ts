// Destroys the sandboxes of a removed branch (branch-removal.ts), through the sandbox service's own routes.
import type { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { BUILD_RESOURCE } from '#core/sandbox/operations.ts';
import type { SandboxRequest, SandboxTransport } from './sandbox-transport.ts';
import type { DatabasePlace } from './scope.ts';

/** The operations on sandboxes in {@link BranchStores}. */
export interface SandboxRemoval {
  /**
   * Destroys all sandboxes of a resource. @returns the number of destroyed sandboxes. @throws {PlatformError} if the
   * service fails.
   */
  clear(place: DatabasePlace): Promise<number>;
  /** Destroys the sandbox in which a branch was built, if any. */
  clearBuild(project: string, preview: string): Promise<void>;
}

interface SnapshotPage {
  readonly items: readonly { readonly id: string }[];
  readonly cursor: string | null;
}

const LIST_AT_ONCE = 100;
const ANSWER_BYTES_MAX = 1024 * 1024;
const CALL_MS = 120_000;

export function createSandboxRemoval(transport: Pick<SandboxTransport, 'request'>): SandboxRemoval {
  async function ask(method: SandboxRequest['method'], path: string): Promise<unknown> {
    const headers = method === 'POST' ? ['content-type', 'application/json'] : [];
    const body = method === 'POST' ? '{}' : null;
    const answer = await transport.request({ method, path, headers, body, signal: AbortSignal.timeout(CALL_MS) });
    const text = await textOf(answer.body);
    if (answer.statusCode === 200) return JSON.parse(text);
    throw new PlatformError('sandbox_unavailable', { reason: `the service answered ${answer.statusCode}` });
  }

  const baseOf = (project: string, resource: string): string =>
    `/v1/projects/${encodeURIComponent(project)}/sandboxes/${encodeURIComponent(resource)}`;
  const destroy = (base: string, id: string): Promise<unknown> =>
    ask('POST', `${base}/${encodeURIComponent(id)}/destroy`);

  return {
    async clear({ namespace, resource }) {
      const base = baseOf(namespace, resource);
      const kept = `${base}?snapshots=1&limit=${LIST_AT_ONCE}`;
      for (let isLast = false; !isLast;) {
        const { items, cursor } = (await ask('GET', kept)) as SnapshotPage;
        for (const { id } of items) await ask('POST', `${base}/${encodeURIComponent(id)}/deleteSnapshot`);
        isLast = cursor === null;
      }
      for (let count = 0, cursor = ''; ;) {
        const page = (await ask('GET', `${base}?limit=${LIST_AT_ONCE}&cursor=${encodeURIComponent(cursor)}`)) as {
          readonly items: readonly { readonly id: string }[];
          readonly cursor: string | null;
        };
        for (const { id } of page.items) await destroy(base, id);
        count += page.items.length;
        if (page.cursor === null) return count;
        ({ cursor } = page);
      }
    },
    async clearBuild(project, preview) {
      await destroy(baseOf(project, BUILD_RESOURCE), preview);
    },
  };
}

async function textOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX)
      throw new PlatformError('sandbox_unavailable', { reason: 'the answer of the service is too long' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
