// The snippets of the pages on bindings type-check against packages/types, in a project that declares what the pages
// declare, so that they cannot say what is not there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { environmentTypes } from '#core/config/environment-types.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';

const root = join(import.meta.dirname, '../../..');
const pages = ['bindings', 'state', 'files', 'queue', 'timer', 'cron', 'workflow', 'cache', 'auth'];

const yaml = `
db: { DB: shop }
state: { KV: settings }
fs: { FILES: uploads }
queue: { MAIL: mail }
timer: { REMIND: reminders }
workflow: { ORDER: order }
cache: { CACHE: pages }
auth: { binding: PLATFORM_AUTH }
`;

const tsconfig = JSON.stringify({
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024'],
    module: 'nodenext',
    types: ['@platform-run/types'],
    noEmit: true,
    strict: true,
  },
  include: ['*.ts'],
});

function blocks(page: string, language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map((match) => match[1]!);
}

/** A whole module stays one; statements are those of a handler. */
function toModule(snippet: string): string {
  if (snippet.includes('export default')) return snippet;
  return `import type { ExecutionContext } from '@platform-run/types';
export async function handler(request: Request, env: PlatformEnv, ctx: ExecutionContext): Promise<Response | void> {
void [request, env, ctx];
${snippet}}
`;
}

test('what the pages declare is a platform.yaml', async () => {
  for (const page of pages) {
    for (const text of blocks(await readFile(join(root, 'docs', `${page}.md`), 'utf8'), 'yaml'))
      assert.deepEqual(parseProjectConfig(text, { file: `${page}.md` }).problems, [], page);
  }
});

test('their snippets type-check', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'snippets-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'node_modules/@platform-run'), { recursive: true });
  await symlink(join(root, 'packages/types'), join(folder, 'node_modules/@platform-run/types'));
  const files: Record<string, string> = {
    'package.json': '{"type":"module"}',
    'tsconfig.json': tsconfig,
    'env.d.ts': environmentTypes(parseProjectConfig(yaml, { file: 'platform.yaml' }).config!),
  };
  for (const page of pages) {
    const snippets = blocks(await readFile(join(root, 'docs', `${page}.md`), 'utf8'), 'ts');
    assert.ok(snippets.length > 0, page);
    for (const [index, snippet] of snippets.entries()) files[`${page}-${index + 1}.ts`] = toModule(snippet);
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const said = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder],
      { cwd: folder },
      (_error, stdout, stderr) => resolve(stdout + stderr),
    );
  });
  assert.equal(said, '');
});
