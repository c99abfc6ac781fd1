// docs/variables.md and docs/limits.md hold every variable that the sources read, and nothing else; `.env.example` has
// those that installations set.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { limitVariables } from '#core/limits.ts';
import { secretVariables } from '#core/process/secret-variables.ts';
import { exampleText, settingsText, variablesText } from '#cli/tasks/env.ts';
import { rowsOf, variableGroups } from '#cli/tasks/variables.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { readSources } from '#cli/tasks/tools/sources.ts';

/** Of the system, or between our own processes. */
const NOT_FOR_OPERATORS = new Set(
  (
    'PATH HOME NO_COLOR NODE_ENV NODE_COMPILE_CACHE XDG_CACHE_HOME UWS_HTTP_MAX_HEADERS_SIZE ' +
    'LISTEN_FDS LISTEN_PID DB_SERVICE_SOCKETS PLATFORM_UPGRADE ENGINE_ID ENGINE_SOCKETS ENGINE_CRASH_FD ENGINE_AI_SOCKET ENGINE_AI_ORIGIN ENGINE_AI_URL ENGINE_SSR_SOCKET ENGINE_SSR_CALLS SSR_SOCKETS ' +
    'ENGINE_SANDBOX_URL ENGINE_SANDBOX_TOKEN SANDBOX_WORKSPACE SANDBOX_SECRETS PLATFORM_FENCE ' +
    'PLATFORM_LOCAL_RECORD PLATFORM_SERVERS_HERE AI_LISTEN AI_ENGINES_LISTEN API_AI_SOCKET API_AI_OPERATOR MACHINE_ORIGIN EDGE_MACHINES'
  ).split(' '),
);
/** How the sources of the parts read one. */
const READS =
  /(?:\b(?:get|value|whole|port|originOf|choice)\(\s*|\b(?:env|environment|own|process\.env)\[)'([A-Z][A-Z0-9_]{2,})'/g;

const known = new Set([
  ...variableGroups.flatMap((group) => rowsOf(group).map(([name]) => name)),
  ...secretVariables.map(({ name }) => name),
  ...limitVariables,
]);

test('every variable that the parts of the platform read is in docs/variables.md or docs/limits.md', () => {
  const missing = new Set<string>();
  for (const [file, text] of Object.entries(readSources(root))) {
    if (!/^(?:core|control|runtime|builder\/(?:service|steps)|postgres|git|web)\//.test(file)) continue;
    if (!file.endsWith('.ts') || /^runtime\/(?:dev|engine\/guest)\//.test(file)) continue;
    for (const [, name] of text.matchAll(READS))
      if (!known.has(name!) && !NOT_FOR_OPERATORS.has(name!)) missing.add(`${name} (${file})`);
  }
  assert.deepEqual([...missing], [], 'give each a row in cli/tasks/variables.ts, then `node cli/run.mjs :env`');
});

test('the files are as the table says', () => {
  const fileText = (name: string): string => readFileSync(path.join(root, name), 'utf8');
  assert.ok(fileText('.env.example') === exampleText(), '.env.example: `node cli/run.mjs :env` writes it');
  assert.ok(fileText('docs/variables.md') === variablesText(), 'variables.md: `node cli/run.mjs :env` writes it');
  assert.ok(
    fileText('containers/settings.yaml') === settingsText(),
    'settings.yaml: `node cli/run.mjs :env` writes it',
  );
});

test('no secret is a setting of all parts', () => {
  const settings = new Set([...settingsText().matchAll(/^ {6}([A-Z0-9_]+):$/gm)].map(([, name]) => name!));
  assert.deepEqual(
    [...settings].filter((name) => /SECRET|PASSWORD|(?<!BUILD_)TOKEN$|_KEY|DATABASE_URL|CACHE_URL/.test(name)),
    [],
  );
  assert.equal(settings.has('WORKER_MEMORY_MB'), true);
});

test('every variable of the compose files is in docs/variables.md or docs/limits.md', () => {
  const missing = new Set<string>();
  for (const file of globSync(
    '{compose*.yaml,docker-compose*.yml,containers/{services,handler,servers,sandbox,edge,Caddyfile}*}',
    { cwd: root },
  ))
    for (const [, name] of readFileSync(path.join(root, file), 'utf8').matchAll(/\$\{([A-Z][A-Z0-9_]+)[:}]/g))
      if (!known.has(name!)) missing.add(`${name} (${file})`);
  assert.deepEqual([...missing], [], 'give each a row in cli/tasks/variables.ts, then `node cli/run.mjs :env`');
});

/** What images and compose files set themselves: folders, ports and addresses inside, and which part runs where. */
const SET_BY_IMAGES = new Set(
  (
    'CADDY_BIN EDGE_HOST FS_PATH DB_URL DB_SERVICE_PORT DB_SERVICE_TLS_KEY_FILE DB_SERVICE_TLS_CERT_FILE DB_SERVICE_CA_FILE ' +
    'AI_GATEWAY_URL SANDBOX_HOST SANDBOX_PORT SANDBOX_ADDRESS PLATFORM_PARTS API_HANDLER_URL HOST HANDLER_HOST API_HOST ' +
    'HANDLER_PORT HANDLER_PRIVATE_PORT API_PORT UI_PORT API_WEB_LISTEN WEB_API_URL WEB_HOST HANDLER_LISTENER ' +
    'PLATFORM_CACHE_DIR PLATFORM_HOME MACHINE_NAME MACHINE_ADDRESS'
  ).split(' '),
);
/** Of containers and secrets that one of the two does not have. */
const OF_THE_OTHER: Readonly<Record<string, RegExp>> = {
  'compose.yaml': /^(?:(?:HANDLER|API|INTERNAL|MIGRATOR|WEB|BACKUPS)_MEMORY|DB_SERVICE_TOKEN|WEB_TOKEN)$/,
  'compose.split.yaml': /^PLATFORM_MEMORY$/,
};

for (const file of ['compose.yaml', 'compose.split.yaml'])
  test(`every variable reaches a container of ${file}, or is set by its images`, () => {
    const fileText = (name: string): string => readFileSync(path.join(root, name), 'utf8');
    const extended = new Set<string>();
    const withExtended = (name: string): string => {
      const text = fileText(name);
      for (const [, other] of text.matchAll(/extends: \{ file: ([\w./-]+)/g)) {
        const found = other!.startsWith('containers/') ? other! : `containers/${other}`;
        if (!extended.has(found)) {
          extended.add(found);
          extendedText += withExtended(found);
        }
      }
      return text;
    };
    let extendedText = '';
    const all = withExtended(file) + extendedText;
    const reached = (name: string): boolean => new RegExp(`^ +${name}:|\\$\\{${name}[:}]`, 'm').test(all);
    const missing = [...known].filter(
      (name) => !reached(name) && !SET_BY_IMAGES.has(name) && OF_THE_OTHER[file]?.test(name) !== true,
    );
    assert.deepEqual(missing, []);
  });

test('AI providers of any name reach the container of the gateway, and no other one', () => {
  type Services = Record<string, { env_file?: unknown; environment?: Record<string, unknown> }>;
  for (const [file, gateway] of [
    ['compose.yaml', 'platform'],
    ['compose.split.yaml', 'api'],
    ['compose.handlers.yaml', null],
    ...globSync('docker-compose*.yml', { cwd: root }).map((name) => [name, null]),
    ...globSync('containers/*.yaml', { cwd: root }).map((name) => [name, null]),
  ] as [string, string | null][]) {
    const { services = {} } = parse(readFileSync(path.join(root, file), 'utf8'), { merge: true }) as {
      services?: Services;
    };
    for (const [name, { env_file: files, environment = {} }] of Object.entries(services)) {
      const isGateway = name === gateway;
      assert.deepEqual(files, isGateway ? ['${AI_ENV_FILE:-./containers/ai.env}'] : undefined, `${file}: ${name}`);
      const named = Object.keys(environment).some((variable) => variable.startsWith('AI_PROVIDER_'));
      assert.equal(named, isGateway, `${file}: ${name}`);
    }
  }
  assert.match(readFileSync(path.join(root, 'containers/ai.env'), 'utf8'), /^(?:#.*\n)+$/);
});

test('the container of sandboxes is given what is said of them', () => {
  const text = readFileSync(path.join(root, 'containers/sandbox.yaml'), 'utf8');
  const rows = rowsOf(variableGroups.find(({ title }) => title.startsWith('Sandboxes'))!);
  // Of those who call it; of its image; where it is.
  const notForIt = new Set(['SANDBOX_URL', 'SANDBOX_HOST', 'SANDBOX_PORT', 'SANDBOX_ADDRESS']);
  const missing = rows.filter(([name]) => !notForIt.has(name) && !text.includes(`      ${name}:`));
  assert.deepEqual(missing, []);
});
