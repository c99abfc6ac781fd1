// Serves a worker of test/clients/packages/workers, with clients of servers unmodified. Used by test/clients/.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Limits } from '#core/limits.ts';
import { startHandler, type TestHandler } from './handler.ts';

/** @param name of the worker's file. */
export async function startClients(
  name: string,
  vars: Readonly<Record<string, string>> = {},
  { yaml = '', limits = {} }: { readonly yaml?: string; readonly limits?: Partial<Limits> } = {},
): Promise<{ readonly handler: TestHandler; asked(path: string): Promise<unknown> }> {
  const handler = await startHandler(
    {
      shop: {
        folder: join(import.meta.dirname, '../clients/packages'),
        files: {},
        yaml: `main: workers/${name}.js\n${yaml}`,
        plan: 'enterprise',
        vars,
      },
    },
    { wallMs: 20_000, ...limits },
  );
  return {
    handler,
    /** The JSON that the worker answers with. */
    async asked(path) {
      const { text, status } = await handler.fetch('shop', path);
      assert.equal(status, 200, `${text} ${handler.logs.map((line) => line.text).join('\n')}`);
      return JSON.parse(text) as unknown;
    },
  };
}
