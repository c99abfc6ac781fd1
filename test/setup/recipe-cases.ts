// The pages of docs/recipes, done as their readers do: the page's files are written and served by `platform dev`, its
// requests are sent, and the answers are those that it shows. For test/integration/recipes.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { curl } from './curl.ts';
import { startDevHere, type TestDev } from './dev.ts';
import { callsOf } from './document-blocks.ts';
import { followPage } from './page-steps.ts';

/** All pages, by the file of test/integration/recipes that follows them, so that none takes too much CPU. */
export const recipes = {
  requests: ['cors', 'rag', 'rate-limits', 'sessions', 'subdomains', 'uploads'],
  events: ['chat', 'receive-webhooks', 'scheduled-jobs', 'scraping', 'send-webhooks'],
  users: ['roles'],
} as const;

/**
 * Registers a test for each page.
 *
 * @param meanwhile what its readers do beside the terminal, by page.
 */
export function testRecipes(
  names: readonly string[],
  meanwhile: Readonly<Record<string, (dev: TestDev) => Promise<void>>> = {},
): void {
  for (const name of names)
    test(`docs/recipes/${name}.md does what it says`, async (t) => {
      const folder = mkdtempSync(path.join(tmpdir(), 'recipe-'));
      const ports: Record<string, number> = {};
      let dev: TestDev | undefined;
      t.after(async () => {
        await dev?.close();
        rmSync(folder, { recursive: true, force: true });
      });
      symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
      writeFileSync(path.join(folder, 'photo.png'), Buffer.from('89504e470d0a1a0a', 'hex'));
      await followPage(`docs/recipes/${name}.md`, {
        ports,
        skip: [],
        meanwhile: async () => meanwhile[name]?.(dev!),
        walk: {
          home: folder,
          clone: root,
          folder,
          write(file, text) {
            mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
            writeFileSync(path.join(folder, file), text);
          },
          async begin() {
            const begun = await startDevHere(folder);
            dev = begun;
            ports[3000] = begun.port;
            return {
              get output() {
                return begun.output;
              },
              printed: (pattern) => begun.printed(pattern),
              stop: async () => void (await begun.close()),
            };
          },
          // Other lines install packages, or are for production.
          async type(line) {
            const [words = []] = callsOf(line);
            return words[0] === 'curl' ? curl(words.slice(1), folder) : '';
          },
          end: async () => {},
        },
      });
      assert.ok(dev !== undefined, 'the page starts platform dev');
    });
}
