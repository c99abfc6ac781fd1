// Every block of code in the documents is what it says: configuration parses, code type-checks against the packages and
// is built, commands exist with their flags, SQL is SQL. What getting started and the tutorial show is done for real by
// test/e2e. A block that nothing can check says why behind its language: ```yaml of Prometheus
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { ArgsDef } from 'citty';
import { parse as parseToml } from 'smol-toml';
import { build } from '#builder/build/build.ts';
import { findEntry } from '#cli/commands/tree.ts';
import { emitPackage } from '#cli/tasks/pack.ts';
import { loadVectors } from '#runtime/databases/sqlite/vector-module.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { readImports } from '#cli/tasks/tools/imports.ts';
import { checkArguments } from '#cli/terminal/arguments.ts';
import { signatureOf } from '#control/outbound/send-signed.ts';
import { environmentTypes } from '#core/config/environment-types.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { blocksOf, callsOf, readBlocks, type Block } from '#test/setup/document-blocks.ts';

const all = readBlocks();
const blocks = all.filter(({ reason }) => reason === '');
const inLanguage = (...languages: string[]): Block[] => blocks.filter(({ language }) => languages.includes(language));

/**
 * Pages that test/e2e and test/integration/recipes do line by line: they write their files, make their changes and
 * compare what they show.
 */
const isWalked = (file: string): boolean => /^docs\/(?:getting-started|tutorial|recipes\/.*)\.md$/.test(file);
/** Languages that a test below reads; of the walked pages also those that only they use. */
const read = new Set(['ts', 'js', 'yaml', 'sh', 'sql', 'json', 'toml', 'console']);
const ofWalked = new Set(['html', 'diff', 'ini']);
/** Pictures, and what a terminal or an answer shows: nothing runs it. */
const shown = new Set(['text']);

test('each block says what it is, and is read by a test or says why none can', () => {
  for (const { where, file, language, reason } of all) {
    const isRead = read.has(language) || shown.has(language) || (ofWalked.has(language) && isWalked(file));
    assert.notEqual(language, '', `${where}: a block without a language`);
    assert.ok(isRead || reason !== '', `${where}: nothing reads ${language}; say why behind it`);
    if (reason !== '') assert.match(reason, /^(?:of|once|as|from) \S/, `${where}: "${reason}" is no reason`);
  }
});

test('what the pages declare is a platform.yaml', () => {
  for (const { where, text } of inLanguage('yaml'))
    assert.deepEqual(parseProjectConfig(text, { file: 'platform.yaml' }).problems, [], where);
});

test('no two pages make a project in the same folder', () => {
  const made = inLanguage('sh').flatMap(({ text }) =>
    [...text.matchAll(/platform init \w+ (\S+)/g)].map(([, at]) => at!),
  );
  assert.ok(made.length >= 4, String(made));
  assert.deepEqual(made.toSorted(), [...new Set(made)].toSorted());
});

test('their JSON, TOML and JavaScript parse', () => {
  for (const { where, text } of inLanguage('json')) assert.doesNotThrow(() => JSON.parse(text) as unknown, where);
  for (const { where, text } of inLanguage('toml')) assert.doesNotThrow(() => parseToml(text), where);
  for (const { where, text } of inLanguage('js')) assert.doesNotThrow(() => readImports('x.js', text), where);
});

test('their SQL is prepared and run by SQLite, page by page', () => {
  for (const file of new Set(inLanguage('sql').map((block) => block.file))) {
    const database = new DatabaseSync(':memory:', { allowExtension: true });
    loadVectors(database);
    for (const { where, text } of inLanguage('sql').filter((block) => block.file === file))
      assert.doesNotThrow(() => database.exec(text), where);
    database.close();
  }
});

/** Programs of other people that the pages call. */
const others = new Set(
  'cd curl git npm docker docker-compose iptables source apt-get openssl systemctl cp sudo mkdir sh ssh'.split(' '),
);
/** Starters of frameworks, by `npx`. */
const starter = /^(?:create-[\w-]+@latest|@(?:tanstack|angular)\/cli@latest|sv)$/;

test('their commands exist, with each flag that is shown', async () => {
  const scripts = new Set([
    ...(await scriptsOf('package.json')),
    ...(await scriptsOf('packages/create/templates/worker/package.json')),
  ]);
  for (const { where, language, text } of inLanguage('sh', 'console')) {
    const lines = language === 'sh' ? text : text.replaceAll(/^(?!\$ ).*\n/gm, '').replaceAll(/^\$ /gm, '');
    for (const words of callsOf(lines)) {
      while (/^[A-Z][A-Z0-9_]*=/.test(words[0] ?? '')) words.shift();
      const [program = '', ...rest] = words[0] === 'npx' ? words.slice(1) : words;
      if (/^(?:platform|run\.mjs)$/.test(path.basename(program))) await assertCommand(where, rest);
      else if (program === 'npm' && rest[0] === 'run') assert.ok(scripts.has(rest[1]!), `${where}: npm run ${rest[1]}`);
      else if (words[0] === 'npx' && starter.test(program)) continue;
      else if (program !== '') assert.ok(others.has(program), `${where}: what is ${program}?`);
    }
  }
});

async function scriptsOf(file: string): Promise<string[]> {
  const { scripts = {} } = JSON.parse(await readFile(path.join(root, file), 'utf8')) as { scripts?: object };
  return Object.keys(scripts);
}

/** Fails where the program itself would say that it does not know a word or a flag. */
async function assertCommand(where: string, words: readonly string[]): Promise<void> {
  if (words.length === 0 || words[0] === '--help' || words[0] === '--version') return;
  const found = findEntry(words);
  assert.ok(found !== null, `${where}: there is no platform ${words[0]}`);
  const { called, rest } = found;
  let { entry } = found;
  if ('commands' in entry) {
    const next = entry.commands[entry.otherwise ?? entry.byDefault ?? ''];
    assert.ok(next !== undefined && !('commands' in next), `${where}: ${called} needs a further word`);
    assert.ok(entry.otherwise !== undefined || rest[0]?.startsWith('-') !== false, `${where}: ${called} ${rest[0]}`);
    entry = next;
  }
  if (rest.includes('--help')) return;
  if (entry.forwards === true) return;
  const { command } = await entry.load();
  const definitions = ((await command.args) ?? {}) as ArgsDef;
  assert.doesNotThrow(() => checkArguments(called, definitions, rest), `${where}: ${called}`);
}

/** What stands before a snippet that goes on from what its page has said before. */
const before: Readonly<Record<string, string>> = {
  'docs/add-a-binding.md': 'declare const env: { VISITS: { add(by?: number): Promise<number> } };',
  'docs/database.md': 'declare const id: number, mail: string, embedding: number[], question: number[];',
  'docs/sandboxes.md': 'declare const userInput: string, key: string;',
  'docs/framework.md': `import { middleware, platform } from '@platform-run/worker';
import { createClient } from '@platform-run/worker/client';
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core';
import { z } from 'zod';
const User = z.object({ id: z.number(), name: z.string() });
const Mail = z.object({ to: z.string() });
const Reminder = z.object({ text: z.string() });
const schema = { users: sqliteTable('users', { id: integer().primaryKey() }) };
const app = platform<PlatformEnv>();
const described = platform()
  .get('/users/:id', { response: { 200: User, 404: z.object({ error: z.string() }) } }, () => ({ id: 7, name: 'Ada' }))
  .build();
const api = createClient<typeof described>('http://users.example.com');
declare function send(mail: z.output<typeof Mail>): Promise<void>;
declare function greet(user: z.output<typeof User>): Promise<void>;
declare function remind(reminder: z.output<typeof Reminder>): void;
declare function cleanUp(database: PlatformEnv['DB']): Promise<void>;`,
};

/** Where a page says that a module lies, and what is beside it. */
const beside: Readonly<Record<string, string>> = {
  'src/page.html': '<title>Chat</title>',
  'api/refresh.ts': 'export async function refresh(): Promise<void> {}',
  'api/times.ts': 'export const GET = (): Response => new Response();',
  'api/visits.ts':
    'export const GET = async (_request: Request, env: PlatformEnv) => Response.json(await env.KV.get("n"));',
};

const PROJECT = `
db: { DB: shop }
state: { KV: settings }
fs: { FILES: uploads }
queue: { MAIL: mail, HOOKS: hooks, PAGES: pages }
timer: { REMIND: reminders }
workflow: { ORDER: order }
cache: { CACHE: pages }
sandbox: { BOX: workshop }
object: { ROOM: Room, COUNTER: Counter, LIMITER: Limiter }
auth: { binding: PLATFORM_AUTH }
cron: { NIGHTLY: '0 3 * * *' }
ai: true
`;

const isModule = ({ text }: Block): boolean => /^export /m.test(text);

/** A whole module stays one; statements are those of a handler. */
function toModule(block: Block): string {
  if (isModule(block)) return block.text;
  // Imports stand at the top; twice the same name would be two.
  const own = [...block.text.matchAll(/^import .*$/gm)].map(([line]) => line);
  const context = before[block.file] ?? '';
  const isGiven = !`${context}${block.text}`.includes('const env');
  return `import type { ExecutionContext } from '@platform-run/types';
${own.join('\n')}
${context}
export async function handler(request: Request${isGiven ? ', env: PlatformEnv' : ''}, ctx: ExecutionContext): Promise<Response | void> {
void [request, ctx${isGiven ? ', env' : ''}];
${block.text.replaceAll(/^import .*\n/gm, '')}}
`;
}

test('their code type-checks, and their modules are built', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'platform-blocks-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(path.join(folder, 'node_modules/@platform-run'), { recursive: true });
  for (const name of ['types', 'worker'])
    await symlink(path.join(root, 'packages', name), path.join(folder, 'node_modules/@platform-run', name));
  // Its sources are for Node, whose types a worker has not.
  const forNode = path.join(folder, 'node_modules/@platform-run/dev');
  await cp(path.join(root, 'packages/dev'), forNode, { recursive: true });
  await emitPackage(forNode);
  for (const name of ['zod', 'drizzle-orm', 'hono'])
    await symlink(path.join(root, 'node_modules', name), path.join(folder, 'node_modules', name));
  const files: Record<string, string> = {
    'package.json': '{"type":"module"}',
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        target: 'es2024',
        lib: ['es2024'],
        module: 'esnext',
        moduleResolution: 'bundler',
        types: ['@platform-run/types'],
        allowImportingTsExtensions: true,
        skipLibCheck: true,
        noEmit: true,
        strict: true,
      },
      include: ['env.d.ts', 'src/*.ts'],
    }),
    'env.d.ts': environmentTypes(parseProjectConfig(PROJECT, { file: 'platform.yaml' }).config!),
    ...beside,
  };
  const named = inLanguage('ts').map((block) => ({ block, name: `src/${block.where.replaceAll(/\W/g, '-')}.ts` }));
  assert.ok(named.length > 20);
  for (const { block, name } of named) files[name] = toModule(block);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  const said = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', folder],
      { cwd: folder },
      (_error, stdout, stderr) => resolve(stdout + stderr),
    );
  });
  assert.equal(said, '');
  const modules = named.filter(({ block }) => isModule(block));
  assert.ok(modules.length > 5);
  for (const { block, name } of modules) {
    // test/integration/recipes builds those of recipes.
    if (!block.text.includes('export default') || block.file.startsWith('docs/recipes/')) continue;
    const { config } = parseProjectConfig(`kind: worker\nmain: ${name}\n${PROJECT}`, { file: 'platform.yaml' });
    const built = build({ root: folder, config: config!, artifacts: path.join(folder, 'artifacts'), durable: false });
    await assert.doesNotReject(built, block.where);
  }
});

test('the check of a signature that the page on webhooks shows takes ours and no other', async () => {
  const { text } = inLanguage('ts').find(({ file }) => file === 'docs/webhooks.md')!;
  const module = `data:text/javascript,${encodeURIComponent(stripTypeScriptTypes(text))}`;
  const { isOurs } = (await import(module)) as { isOurs(...given: string[]): Promise<boolean> };
  const now = Math.floor(Date.now() / 1000);
  assert.equal(await isOurs(signatureOf('whsec_x', now, '{}'), '{}', 'whsec_x'), true);
  assert.equal(await isOurs(signatureOf('whsec_x', now, '{}'), '{ }', 'whsec_x'), false);
  assert.equal(await isOurs(signatureOf('whsec_y', now, '{}'), '{}', 'whsec_x'), false);
  assert.equal(await isOurs(signatureOf('whsec_x', now - 301, '{}'), '{}', 'whsec_x'), false);
  assert.equal(await isOurs('', '{}', 'whsec_x'), false);
});

test('blocks and calls are read as a reader reads them', () => {
  const page = '1. Type\n\n   ```sh once more\n   a  # b\n   ```\n';
  assert.deepEqual(blocksOf('x.md', page), [
    { where: 'x.md:3', file: 'x.md', language: 'sh', reason: 'once more', text: 'a  # b\n' },
  ]);
  assert.throws(() => blocksOf('x.md', '```sh\na'), { message: 'x.md:1: a block without an end' });
  assert.deepEqual(callsOf('a \'b c\' \\\n  --d="e f" < in.txt # g\nh && i | j > out\nsource <(k l)\nm /x/<id>/y'), [
    ['a', 'b c', '--d=e f'],
    ['h'],
    ['i'],
    ['j'],
    ['source'],
    ['m', '/x/<id>/y'],
  ]);
});
